# y = softmax(x.T @ w) over the columns, tile by tile. x is stored with its contraction axis first.
def matmul_softmax(x, w, y, rows, depth, columns):
    weights = [load(w.tile(k), to=sbuf) for k in range(depth)]
    for r in range(rows):
        logits = [psum.bank(float32) for c in range(columns)]
        for k in range(depth):
            tile = load(x.tile(k, r), to=sbuf)
            for c in range(columns):
                logits[c] += matmul(stationary=tile, moving=weights[k].tile(c))
        peaks = [reduce_max(logits[c]) for c in range(columns)]
        peak = reduce_max(peaks)
        shifted = [subtract(logits[c], peak) for c in range(columns)]
        powers = [exp(shifted[c]) for c in range(columns)]
        total = reduce_sum(powers)
        scale = reciprocal(total)
        result = multiply(powers, scale)
        store(y.tile(r), result)
