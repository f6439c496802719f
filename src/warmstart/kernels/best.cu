// The best of all actions for every context: the loops of best.py, every pair worked out by the same rule.
//
// A block forms the columns of CONTEXTS contexts (32, 16, ...) in shared memory, and goes through actions: a lane of a
// warp has one context. Sums are taken in the order of features, a product and its sum rounded once.

#define LEAST_SCORE __longlong_as_double(0xfff0000000000000LL)

extern "C" __global__ void best_of_all(
    int contexts, const long long* x_starts, const unsigned int* x_buckets, const float* x_values,
    int actions, const long long* a_starts, const uint2* a_features, const double* factors,
    int columns, const long long* used, const float* weights, long long width, double lowest, int loss,
    int* best, double* scores
) {
    extern __shared__ float tile[];
    const int first = blockIdx.x * CONTEXTS;
    for (int place = threadIdx.x; place < columns * CONTEXTS; place += blockDim.x) {
        const int k = place / columns, j = place % columns;
        float sum = 0;
        if (first + k < contexts)
            for (long long q = x_starts[first + k]; q < x_starts[first + k + 1]; q++)
                sum = fmaf(x_values[q], weights[x_buckets[q] * width + used[j]], sum);
        tile[j * CONTEXTS + k] = sum;
    }
    __syncthreads();
    const int k = threadIdx.x % CONTEXTS, share = threadIdx.x / CONTEXTS, shares = blockDim.x / CONTEXTS;
    const int begin = (int)((long long)actions * blockIdx.y / gridDim.y);
    const int end = (int)((long long)actions * (blockIdx.y + 1) / gridDim.y);
    double top = LEAST_SCORE;
    int chosen = begin;
    for (int action = begin + share; action < end; action += shares) {
        const int last = (int)(a_starts[action + 1] - a_starts[action]);
        const uint2* features = a_features + a_starts[action];
        float sum = 0;
#pragma unroll 8
        for (int r = 0; r < last; r++) {
            const uint2 feature = __ldg(features + r);
            sum = fmaf(__uint_as_float(feature.y), tile[feature.x * CONTEXTS + k], sum);
        }
        const float f = loss == 0 ? sum : (float)(1 / (1 + exp(-(double)sum)));
        const double expected = fmin(fmax((double)f, lowest) * factors[action], 1.0);
        if (expected > top) {
            top = expected;
            chosen = action;
        }
    }
    // The best of all shares of a context, the first of equals.
    __syncthreads();
    double* tops = (double*)tile;
    int* places = (int*)(tops + blockDim.x);
    tops[threadIdx.x] = top;
    places[threadIdx.x] = chosen;
    __syncthreads();
    if (share == 0 && first + k < contexts) {
        for (int other = 1; other < shares; other++) {
            const double theirs = tops[other * CONTEXTS + k];
            const int place = places[other * CONTEXTS + k];
            if (theirs > top || (theirs == top && place < chosen)) {
                top = theirs;
                chosen = place;
            }
        }
        best[(long long)blockIdx.y * contexts + first + k] = chosen;
        scores[(long long)blockIdx.y * contexts + first + k] = top;
    }
}
