//! Keys whose writing depends on the input.

use super::*;

/// The gate present_or_nondefault: a copy changes nothing. spec: opcodes 1.2
#[test]
fn what_was_there_stays_and_what_was_not_does_not_come() {
    let bare = location("sample");
    let mut document = world();
    document["functions"][0]["allocations"][0]["memorylocations"][0] = with(&location("t"), json!({}));
    for members in [
        json!({}),
        json!({"bank": 0}),
        json!({"bank": 0, "base": 0, "pinned": false, "allocated": false, "tensor_id": -1}),
        json!({"allocated": true, "bank": -3}),
        json!({"user_allocated": false, "runtime_reserved": true}),
    ] {
        let location = with(&with(&bare, members), json!({"name": "t"}));
        document["functions"][0]["allocations"][0]["memorylocations"][0] = location.clone();
        let written = round_trip(&document);
        assert_eq!(written["functions"][0]["allocations"][0]["memorylocations"][0], location);
    }
}
