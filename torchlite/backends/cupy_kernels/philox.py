"""Philox 4x32-10 for kernels: the blocks of words that numbers are made of, by counting."""

PHILOX = """
// Where a draw begins: in a graph, from where its memory says.
struct torchlite_place {
    unsigned long long seed, counter;

    __device__ torchlite_place(unsigned long long seed, unsigned long long counter, unsigned long long graph)
            : seed(seed), counter(counter) {
        if (!graph) return;
        const unsigned long long* state = (const unsigned long long*)graph;
        this->seed = state[0];
        this->counter += state[1];
    }
};
struct torchlite_block {
    unsigned int word[4];

    __device__ torchlite_block(unsigned long long seed, unsigned long long counter, unsigned long long graph) {
        const torchlite_place at(seed, counter, graph);
        unsigned int key[2] = {(unsigned int)at.seed, (unsigned int)(at.seed >> 32)};
        word[0] = (unsigned int)at.counter;
        word[1] = (unsigned int)(at.counter >> 32);
        word[2] = word[3] = 0;
        for (int round = 0; round < 10; round++) {
            const unsigned int a = word[0], b = word[2];
            word[0] = __umulhi(0xCD9E8D57u, b) ^ word[1] ^ key[0];
            word[1] = 0xCD9E8D57u * b;
            word[2] = __umulhi(0xD2511F53u, a) ^ word[3] ^ key[1];
            word[3] = 0xD2511F53u * a;
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
    }
    __device__ unsigned long long whole(int k) const {
        return (unsigned long long)word[2 * k] << 32 | word[2 * k + 1];
    }
    // Two numbers in [0, 1), of the type of what they are multiplied with.
    __device__ float unit(int k, float) const { return (word[2 * k] >> 8) * 5.9604644775390625e-8f; }
    __device__ double unit(int k, double) const { return (whole(k) >> 11) * 1.1102230246251565e-16; }
    // Whether the first is below a number that is given in steps of its last bit.
    __device__ bool below(unsigned long long steps) const { return whole(0) >> 11 < steps; }
};
"""
