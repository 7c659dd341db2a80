//! Decimal digits of a double by the Grisu2 algorithm (F. Loitsch, "Printing Floating-Point Numbers Quickly
//! and Accurately with Integers", PLDI 2010), with the parameters of the reference's JSON library.
//! The digits always read back to the same double. They are not always the shortest that do: 0.4 % of all
//! doubles print longer, as 0.565081 prints 0.5650810000000001.

/// The decimal `0.d1d2d3... * 10^point`, with `len` digits and no leading zero.
pub(super) struct Decimal {
    digits: [u8; MAX_DIGITS],
    len: usize,
    /// Position of the decimal point, counted from the first digit.
    pub(super) point: i32,
}

impl Decimal {
    /// The digits as ASCII.
    pub(super) fn digits(&self) -> &[u8] {
        &self.digits[..self.len]
    }
}

/// Digits of a finite `value` above zero.
pub(super) fn decimal(value: f64) -> Decimal {
    debug_assert!(value.is_finite() && value > 0.0);
    let Interval { low, value, high } = Interval::around(value);
    let (power, power_exponent) = cached_power(high.exponent);

    // A product is off by at most one unit in the last place, so the interval shrinks by one unit on both
    // sides: whatever lies within it is certain to read back as the value.
    let value = value.times(power);
    let low = low.times(power).significand + 1;
    let high = high.times(power);
    let high = Extended { significand: high.significand - 1, exponent: high.exponent };

    generate(low, value.significand, high, -power_exponent)
}

/// Seventeen digits tell any two doubles apart; the room beyond is never used.
const MAX_DIGITS: usize = 20;

const SIGNIFICAND_BITS: i32 = f64::MANTISSA_DIGITS as i32 - 1;
const HIDDEN_BIT: u64 = 1 << SIGNIFICAND_BITS;
const EXPONENT_BIAS: i32 = f64::MAX_EXP - 1 + SIGNIFICAND_BITS;

/// The number `significand * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Extended {
    significand: u64,
    exponent: i32,
}

impl Extended {
    fn normalized(self) -> Self {
        let shift = self.significand.leading_zeros();
        Self { significand: self.significand << shift, exponent: self.exponent - shift as i32 }
    }

    /// The same number with a smaller exponent.
    fn at_exponent(self, exponent: i32) -> Self {
        Self { significand: self.significand << (self.exponent - exponent), exponent }
    }

    /// Upper half of the product, rounded half up.
    fn times(self, other: Self) -> Self {
        let product = u128::from(self.significand) * u128::from(other.significand) + (1 << 63);
        Self { significand: (product >> 64) as u64, exponent: self.exponent + other.exponent + 64 }
    }
}

/// A double and the midpoints between it and its neighbours, on one exponent and normalised to `high`.
struct Interval {
    low: Extended,
    value: Extended,
    high: Extended,
}

impl Interval {
    fn around(value: f64) -> Self {
        let bits = value.to_bits();
        let biased = (bits >> SIGNIFICAND_BITS) as i32;
        let fraction = bits & (HIDDEN_BIT - 1);
        let (significand, exponent) = if biased == 0 {
            (fraction, 1 - EXPONENT_BIAS)
        } else {
            (fraction | HIDDEN_BIT, biased - EXPONENT_BIAS)
        };

        let high = Extended { significand: 2 * significand + 1, exponent: exponent - 1 }.normalized();
        // Below a power of two the doubles lie twice as close.
        let low = if fraction == 0 && biased > 1 {
            Extended { significand: 4 * significand - 1, exponent: exponent - 2 }
        } else {
            Extended { significand: 2 * significand - 1, exponent: exponent - 1 }
        };
        Self {
            low: low.at_exponent(high.exponent),
            value: Extended { significand, exponent }.normalized(),
            high,
        }
    }
}

/// Generates digits of `high` until what is left is less than the interval's width, then steps the last digit
/// down towards `value`. All three are in units of `2^high.exponent`; the result is times `10^scale`.
fn generate(low: u64, value: u64, high: Extended, scale: i32) -> Decimal {
    let fraction_bits = -high.exponent;
    debug_assert!((32..=60).contains(&fraction_bits));
    let high = high.significand;
    let mut width = high - low;
    let mut distance = high - value;

    let one = 1u64 << fraction_bits;
    let mut integer = (high >> fraction_bits) as u32;
    let mut fraction = high & (one - 1);

    let mut digits = [0u8; MAX_DIGITS];
    let mut len = 0;

    let integer_digits = integer.max(1).ilog10() as i32 + 1;
    let mut unit = 10u32.pow(integer_digits as u32 - 1);
    for _ in 0..integer_digits {
        digits[len] = b'0' + (integer / unit) as u8;
        len += 1;
        integer %= unit;
        let rest = (u64::from(integer) << fraction_bits) + fraction;
        if rest <= width {
            approach(&mut digits[len - 1], distance, width, rest, u64::from(unit) << fraction_bits);
            return Decimal { digits, len, point: integer_digits + scale };
        }
        unit /= 10;
    }

    // The fraction is below 2^60, so ten times it fits.
    while len < MAX_DIGITS {
        fraction *= 10;
        width *= 10;
        distance *= 10;
        digits[len] = b'0' + (fraction >> fraction_bits) as u8;
        len += 1;
        fraction &= one - 1;
        if fraction <= width {
            approach(&mut digits[len - 1], distance, width, fraction, one);
            break;
        }
    }
    Decimal { digits, len, point: integer_digits + scale }
}

/// Lowers the last digit while that brings the number, which is `rest` below the high end, closer to the value,
/// which is `distance` below it, and stays within `width`. `unit` is the weight of the last digit.
fn approach(last: &mut u8, distance: u64, width: u64, mut rest: u64, unit: u64) {
    while rest < distance
        && width - rest >= unit
        && (rest + unit < distance || distance - rest > rest + unit - distance)
    {
        *last -= 1;
        rest += unit;
    }
}

const FIRST_POWER: i32 = -300;
const POWER_STEP: i32 = 8;
/// Exponents that the product of a value and its power may have: between -60 and -32.
const LOWEST_PRODUCT_EXPONENT: i32 = -60;

/// The power of ten (with its decimal exponent) that brings a normalised number of this binary exponent to a
/// product whose exponent is in -60..=-32.
fn cached_power(exponent: i32) -> (Extended, i32) {
    // The smallest k with 10^k >= 2^(needed + 63); 78913 / 2^18 is log10(2).
    let needed = LOWEST_PRODUCT_EXPONENT - exponent - 1;
    let k = needed * 78_913 / (1 << 18) + i32::from(needed > 0);
    let index = (k - FIRST_POWER + POWER_STEP - 1) / POWER_STEP;
    let power = FIRST_POWER + index * POWER_STEP;
    let significand = POWERS[index as usize];
    (Extended { significand, exponent: power_exponent(power) }, power)
}

/// Binary exponent of the normalised 64-bit significand of `10^power`; 1741647 / 2^19 is log2(10).
fn power_exponent(power: i32) -> i32 {
    ((power * 1_741_647) >> 19) - 63
}

/// Significands of 10^-300, 10^-292, ... 10^324, rounded to nearest; a test computes them again.
#[rustfmt::skip]
const POWERS: [u64; 79] = [
    0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f, 0xbe56_91ef_416b_d60c, 0x8dd0_1fad_907f_fc3c,
    0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5, 0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d,
    0x823c_1279_5db6_ce57, 0xc210_9436_4dfb_5637, 0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7,
    0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5, 0xb238_67fb_2a35_b28e, 0x84c8_d4df_d2c6_3f3b,
    0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996, 0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6,
    0xf3e2_f893_dec3_f126, 0xb5b5_ada8_aaff_80b8, 0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053,
    0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd, 0xa6df_bd9f_b8e5_b88f, 0xf8a9_5fcf_8874_7d94,
    0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b, 0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac,
    0xe45c_10c4_2a2b_3b06, 0xaa24_2499_6973_92d3, 0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb,
    0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c, 0x9c40_0000_0000_0000, 0xe8d4_a510_0000_0000,
    0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984, 0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70,
    0xd5d2_38a4_abe9_8068, 0x9f4f_2726_179a_2245, 0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8,
    0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a, 0x924d_692c_a61b_e758, 0xda01_ee64_1a70_8dea,
    0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85, 0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2,
    0xc835_53c5_c896_5d3d, 0x952a_b45c_fa97_a0b3, 0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25,
    0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece, 0x88fc_f317_f222_41e2, 0xcc20_ce9b_d35c_78a5,
    0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a, 0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c,
    0xbb76_4c4c_a7a4_4410, 0x8bab_8eef_b640_9c1a, 0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129,
    0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429, 0x8044_4b5e_7aa7_cf85, 0xbf21_e440_03ac_dd2d,
    0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841, 0x9e19_db92_b4e3_1ba9,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Little-endian natural number of as many 32-bit limbs as it takes.
    #[derive(Clone, Debug, PartialEq)]
    struct Natural(Vec<u32>);

    impl Natural {
        fn one() -> Self {
            Self(vec![1])
        }

        fn times(mut self, factor: u32) -> Self {
            let mut carry = 0u64;
            for limb in &mut self.0 {
                carry += u64::from(*limb) * u64::from(factor);
                *limb = carry as u32;
                carry >>= 32;
            }
            if carry > 0 {
                self.0.push(carry as u32);
            }
            self
        }

        fn power_of_ten(exponent: i32) -> Self {
            (0..exponent).fold(Self::one(), |power, _| power.times(10))
        }

        fn shifted(self, bits: i32) -> Self {
            let mut limbs = vec![0; bits as usize / 32];
            limbs.extend(self.0);
            Self(limbs).times(1 << (bits % 32))
        }

        fn times_u64(self, factor: u64) -> Self {
            let high = self.clone().times((factor >> 32) as u32).shifted(32);
            self.times(factor as u32).plus(&high)
        }

        fn plus(&self, other: &Self) -> Self {
            let length = self.0.len().max(other.0.len());
            let limb = |n: &Self, i: usize| u64::from(n.0.get(i).copied().unwrap_or(0));
            let mut carry = 0;
            let mut sum: Vec<u32> = (0..length)
                .map(|i| {
                    carry += limb(self, i) + limb(other, i);
                    let low = carry as u32;
                    carry >>= 32;
                    low
                })
                .collect();
            sum.push(carry as u32);
            Self(sum)
        }

        fn at_most(&self, other: &Self) -> bool {
            let strip = |n: &Self| {
                let mut limbs = n.0.clone();
                while limbs.last() == Some(&0) {
                    limbs.pop();
                }
                limbs
            };
            let (a, b) = (strip(self), strip(other));
            a.len() < b.len() || a.len() == b.len() && a.iter().rev().le(b.iter().rev())
        }
    }

    #[test]
    fn powers_are_normalised_and_rounded_to_nearest() {
        for (index, &significand) in POWERS.iter().enumerate() {
            let power = FIRST_POWER + index as i32 * POWER_STEP;
            let exponent = power_exponent(power);
            assert!(significand >= 1 << 63, "10^{power}");
            // Within half a unit: (2f-1) * 2^(e-1) <= 10^p <= (2f+1) * 2^(e-1), as whole numbers on both sides.
            let scale_ten = Natural::power_of_ten(power.max(0)).shifted((1 - exponent).max(0));
            let scale_two = Natural::power_of_ten((-power).max(0)).shifted((exponent - 1).max(0));
            let twice = scale_two.clone().times_u64(significand).times(2);
            assert!(twice.at_most(&scale_ten.plus(&scale_two)), "10^{power} is rounded too high");
            assert!(scale_ten.at_most(&twice.plus(&scale_two)), "10^{power} is rounded too low");
        }
    }

    #[test]
    fn every_exponent_has_a_power_in_range() {
        for exponent in -1137..=960 {
            let (power, _) = cached_power(exponent);
            let product = exponent + power.exponent + 64;
            assert!((-60..=-32).contains(&product), "2^{exponent} gives {product}");
        }
    }

    #[test]
    fn extremes() {
        let largest = decimal(f64::MAX);
        assert_eq!((largest.digits(), largest.point), (&b"17976931348623157"[..], 309));
        let smallest = decimal(5e-324);
        assert_eq!((smallest.digits(), smallest.point), (&b"5"[..], -323));
    }

    #[test]
    fn digits_are_not_always_the_shortest() {
        let value = f64::from_bits(0x436b_857c_8000_0000);
        assert_eq!(decimal(value).digits(), b"61972753128882176");
        assert_eq!(value, 6.197275312888218e16);
        assert_eq!(decimal(0.565081).digits(), b"5650810000000001");
    }
}
