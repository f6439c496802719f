// Learning and predicting a model that is linear in the product of two sparse vectors: the loops of product.py.
//
// A block of threads works on one example at a time: each thread takes some of the pairs of a context feature and an
// action feature. So many examples are in flight as there are blocks; each is predicted with weights that lack the
// steps of the others. LANES (1, 2 or 4) learning rates have their weights side by side.

#define STEPS_OF_ODE 16
#define SMALLEST_MOVE 1e-12
#define MOST_WARPS 32

#if LANES == 1
typedef float Lanes;
#elif LANES == 2
typedef float2 Lanes;
#else
typedef float4 Lanes;
#endif

union Weight {
    Lanes all;
    float lane[LANES];
};

struct Rows {
    const long long* starts;
    const unsigned int* buckets;
    const float* values;
};

struct Pair {
    long long x, a;  // where the features begin
    int xs, as;      // how many there are
};

__device__ Pair pair_of(int context, int action, const Rows& x, const Rows& a) {
    Pair pair;
    pair.x = x.starts[context];
    pair.a = a.starts[action];
    pair.xs = (int)(x.starts[context + 1] - pair.x);
    pair.as = (int)(a.starts[action + 1] - pair.a);
    return pair;
}

// Calls visit(weight's place, product of values) for this thread's pairs of features, of `threads` that share them.
template <class Visit>
__device__ void each_pair(
    const Pair& pair, const Rows& x, const Rows& a, long long width, int thread, int threads, Visit visit
) {
    if (pair.as == 0) return;
    int i = thread / pair.as, j = thread % pair.as;
    const int di = threads / pair.as, dj = threads % pair.as;
#pragma unroll 4
    while (i < pair.xs) {
        visit(
            (long long)x.buckets[pair.x + i] * width + a.buckets[pair.a + j],
            x.values[pair.x + i] * a.values[pair.a + j]
        );
        i += di;
        j += dj;
        if (j >= pair.as) {
            j -= pair.as;
            i += 1;
        }
    }
}

__device__ void add_product(float* total, const float* weights, long long place, float value) {
    Weight weight;
    // Past the first cache, which does not see what other blocks add.
    weight.all = __ldcg((const Lanes*)weights + place);
#pragma unroll
    for (int k = 0; k < LANES; k++) total[k] += value * weight.lane[k];
}

__device__ void add_step(float* weights, long long place, float value, const float* steps) {
#if LANES == 1
    atomicAdd(weights + place, value * steps[0]);
#elif __CUDA_ARCH__ >= 900
    Weight move;
#pragma unroll
    for (int k = 0; k < LANES; k++) move.lane[k] = value * steps[k];
    atomicAdd((Lanes*)weights + place, move.all);
#else
#pragma unroll
    for (int k = 0; k < LANES; k++) atomicAdd(weights + place * LANES + k, value * steps[k]);
#endif
}

__device__ void sum_over_warp(float* total) {
#pragma unroll
    for (int k = 0; k < LANES; k++)
        for (int offset = 16; offset > 0; offset /= 2) total[k] += __shfl_down_sync(0xffffffffu, total[k], offset);
}

// The importance-aware step of `step_size`, in doubles.
__device__ double step_size(int loss, double y, double p, double rate_times_weight, double square) {
    if (!(square > 0)) return 0;
    if (loss == 0) return (y - p) * -expm1(-rate_times_weight * square) / square;
    const int steps = STEPS_OF_ODE + (int)(rate_times_weight * square);
    const double dt = rate_times_weight / steps;
    double moved = 0;
    for (int n = 0; n < steps; n++) {
        const double k1 = y - 1 / (1 + exp(-(p + square * moved)));
        const double k2 = y - 1 / (1 + exp(-(p + square * (moved + dt / 2 * k1))));
        const double k3 = y - 1 / (1 + exp(-(p + square * (moved + dt / 2 * k2))));
        const double k4 = y - 1 / (1 + exp(-(p + square * (moved + dt * k3))));
        moved += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return moved;
}

// `learned`: adds the weighted loss of a prediction, and returns the step that it leads to.
__device__ float learned(int loss, float p, float y, float weight, double rate, float square, double* losses) {
    if (loss == 0) {
        p = fminf(fmaxf(p, 0.f), 1.f);
        *losses += weight * (y - p) * (y - p);
    } else {
        *losses += weight * (log1pf(expf(-fabsf(p))) + fmaxf(p, 0.f) - y * p);
    }
    const float step = (float)step_size(loss, y, p, rate * weight, square);
    return fabs((double)step) >= SMALLEST_MOVE ? step : 0.f;
}

// One SGD pass over n examples, in their order but for those in flight; `losses` has LANES sums for every block.
extern "C" __global__ void train(
    int n, const int* contexts, const int* actions, const float* targets, const float* importance,
    const long long* x_starts, const unsigned int* x_buckets, const float* x_values, const float* x_squares,
    const long long* a_starts, const unsigned int* a_buckets, const float* a_values, const float* a_squares,
    float* weights, long long width, const double* rates, int loss, double* losses
) {
    const Rows x = {x_starts, x_buckets, x_values}, a = {a_starts, a_buckets, a_values};
    const int thread = threadIdx.x, threads = blockDim.x, warps = threads / 32;
    __shared__ float partial[MOST_WARPS][LANES];
    __shared__ float steps[LANES];
    double lost = 0;
    int example = blockIdx.x;
    if (example >= n) return;
    int context = contexts[example], action = actions[example];
    Pair pair = pair_of(context, action, x, a);
    while (example < n) {
        // The next example is looked up while this one is worked on.
        const int next = example + gridDim.x, ahead = next < n ? next : example;
        const int next_context = contexts[ahead], next_action = actions[ahead];
        const Pair next_pair = pair_of(next_context, next_action, x, a);
        float total[LANES] = {};
        each_pair(pair, x, a, width, thread, threads, [&](long long place, float value) {
            add_product(total, weights, place, value);
        });
        sum_over_warp(total);
        if (thread % 32 == 0)
#pragma unroll
            for (int k = 0; k < LANES; k++) partial[thread / 32][k] = total[k];
        __syncthreads();
        if (thread < LANES) {
            float p = 0;
            for (int warp = 0; warp < warps; warp++) p += partial[warp][thread];
            const float square = x_squares[context] * a_squares[action];
            steps[thread] =
                learned(loss, p, targets[example], importance[example], rates[thread], square, &lost);
        }
        __syncthreads();
        float move[LANES];
        bool any = false;
#pragma unroll
        for (int k = 0; k < LANES; k++) {
            move[k] = steps[k];
            any |= move[k] != 0;
        }
        if (any)
            each_pair(pair, x, a, width, thread, threads, [&](long long place, float value) {
                add_step(weights, place, value, move);
            });
        if (gridDim.x == 1) {
            // Alone, an example must see all that came before.
            __threadfence();
            __syncthreads();
        }
        example = next;
        context = next_context;
        action = next_action;
        pair = next_pair;
    }
    if (thread < LANES) losses[blockIdx.x * LANES + thread] += lost;
}

#if LANES == 1
// The product of n pairs of a context and an action: a warp for each.
extern "C" __global__ void predict(
    int n, const int* contexts, const int* actions,
    const long long* x_starts, const unsigned int* x_buckets, const float* x_values,
    const long long* a_starts, const unsigned int* a_buckets, const float* a_values,
    const float* weights, long long width, float* scores
) {
    const Rows x = {x_starts, x_buckets, x_values}, a = {a_starts, a_buckets, a_values};
    const int warps = gridDim.x * (blockDim.x / 32);
    for (int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < n; i += warps) {
        const Pair pair = pair_of(contexts[i], actions[i], x, a);
        float total[LANES] = {};
        each_pair(pair, x, a, width, threadIdx.x % 32, 32, [&](long long place, float value) {
            add_product(total, weights, place, value);
        });
        sum_over_warp(total);
        if (threadIdx.x % 32 == 0) scores[i] = total[0];
    }
}
#endif
