// Convolutions of many channels as products of matrices: what the taps read for all windows of some images is laid out as
// columns, (channels and taps, images and windows).
#include "columns.h"

enum { MOST = 1 << 20 };  // numbers in the columns of a block of images

typedef struct { N first, after; } Range;

// The windows along a dimension for which a tap reads what is in the image.
static Range windows_inside(const Sliding *s, int d, N tap)
{
    const N shift = tap * s->dilation[d] - s->padding[d], step = s->stride[d];
    Range r = {shift < 0 ? (-shift + step - 1) / step : 0, shift < s->size[d] ? (s->size[d] - 1 - shift) / step + 1 : 0};
    if (r.after > s->count[d]) r.after = s->count[d];
    if (r.first > r.after) r.first = r.after;
    return r;
}

// One row of windows of a tap, and the image's row that it reads, of which NULL is one in the padding.
static void read_row(const Sliding *s, const float *row, N shift, Range r, float *to)
{
    memset(to, 0, (row ? r.first : s->count[2]) * sizeof *to);
    if (!row) return;
    if (s->stride[2] == 1) memcpy(to + r.first, row + r.first + shift, (r.after - r.first) * sizeof *to);
    else for (N i = r.first; i < r.after; i++) to[i] = row[i * s->stride[2] + shift];
    memset(to + r.after, 0, (s->count[2] - r.after) * sizeof *to);
}

static void add_row(const Sliding *s, float *row, N shift, Range r, const float *from)
{
    for (N i = r.first; row && i < r.after; i++) row[i * s->stride[2] + shift] += from[i];
}

// A plane of windows that is as wide as the image's: what a tap reads is the image's plane, moved, but for its borders.
static void clear_borders(const Sliding *s, Range down, Range along, float *plane)
{
    const N width = s->count[2];
    memset(plane, 0, down.first * width * sizeof *plane);
    memset(plane + down.after * width, 0, (s->count[1] - down.after) * width * sizeof *plane);
    for (N i = down.first; i < down.after; i++) {
        for (N k = 0; k < along.first; k++) plane[i * width + k] = 0;
        for (N k = along.after; k < width; k++) plane[i * width + k] = 0;
    }
}

static void move_plane(const Sliding *s, float *image, Range down, Range along, N shift, float *plane, int back)
{
    const N first = down.first * s->count[2] + along.first, after = (down.after - 1) * s->count[2] + along.after;
    if (back) clear_borders(s, down, along, plane);
    if (back && first < after) loops->add_to(plane + first, image + first + shift, after - first);
    else if (first < after) memcpy(plane + first, image + first + shift, (after - first) * sizeof *plane);
    if (!back) clear_borders(s, down, along, plane);
}

typedef struct { const Sliding *s; float *images, *columns; N many, apart; int back; } Layout;

// For each plane of windows of some images and some of their channels: to the columns, or from there, which it may change,
// added to the images.
static void lay_share(void *work, N from, N to)
{
    const Layout *w = work;
    const Sliding *s = w->s;
    const N plane = s->size[1] * s->size[2], volume = s->size[0] * plane;
    const int moved = s->stride[1] == 1 && s->stride[2] == 1 && s->count[2] == s->size[2];
    for (N c = from; c < to; c++)
        for (N t = 0; t < s->taps; t++) {
            float *columns = w->columns + (c * s->taps + t) * w->apart;
            const N at[3] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1], t % s->kernel[2]};
            N shift[3];
            for (int d = 0; d < 3; d++) shift[d] = at[d] * s->dilation[d] - s->padding[d];
            const Range along = windows_inside(s, 2, at[2]), down = windows_inside(s, 1, at[1]), deep = windows_inside(s, 0, at[0]);
            for (N n = 0; n < w->many; n++)
                for (N k = 0; k < s->count[0]; k++, columns += s->count[1] * s->count[2]) {
                    float *image = w->images + (n * s->in + c) * volume + (k * s->stride[0] + shift[0]) * plane;
                    const int inside = k >= deep.first && k < deep.after;
                    if (inside && moved) {
                        move_plane(s, image, down, along, shift[1] * s->size[2] + shift[2], columns, w->back);
                        continue;
                    }
                    for (N i = 0; i < s->count[1]; i++) {
                        float *row = inside && i >= down.first && i < down.after ?
                                     image + (i * s->stride[1] + shift[1]) * s->size[2] : NULL, *to = columns + i * s->count[2];
                        if (w->back) add_row(s, row, shift[2], along, to);
                        else read_row(s, row, shift[2], along, to);
                    }
                }
        }
}

static N windows(const Sliding *s) { return s->count[0] * s->count[1] * s->count[2]; }
static N volume(const Sliding *s) { return s->size[0] * s->size[1] * s->size[2]; }

int is_for_columns(const Sliding *s)
{
    const int many = s->taps == 1 ? s->in >= 32 && s->out >= 32 : s->in * s->taps >= 2000 && s->out >= 96;
    return s->groups == 1 && many && s->in * s->taps > 1 && windows(s) > 1;
}

// Images that are taken together, and where they are taken apart: columns, and rows of outputs.
typedef struct { const Sliding *s; N reads, many, columns, apart; float *laid, *outputs; } Blocks;

// Whether there is memory.
static int begin(Blocks *b, const Sliding *s)
{
    *b = (Blocks){s, s->in * s->taps};
    b->many = MOST / (b->reads * windows(s));
    b->many = b->many < 1 ? 1 : b->many < s->images ? b->many : s->images;
    b->columns = b->many * windows(s);
    b->apart = apart_for(b->columns);
    b->laid = PyMem_RawMalloc((b->reads + s->out) * b->apart * sizeof(float));
    if (!b->laid) return PyErr_NoMemory(), 0;
    b->outputs = b->laid + b->reads * b->apart;
    return 1;
}

// Whether there are images left from the i-th on, as many as are taken together or the last ones.
static int next(Blocks *b, N i)
{
    if (i + b->many > b->s->images) b->many = b->s->images - i;
    b->columns = b->many * windows(b->s);
    return b->many > 0;
}

static void lay_out(const Blocks *b, float *images, N i, int back)
{
    Layout work = {b->s, images + i * b->s->in * volume(b->s), b->laid, b->many, b->apart, back};
    in_shares(lay_share, &work, b->s->in, least_of(b->s->taps * b->columns));
}

typedef struct { const Blocks *b; float *images; int back; } Exchange;

static void exchange_share(void *work, N from, N to)
{
    const Exchange *w = work;
    const N n = windows(w->b->s), out = w->b->s->out;
    for (N o = from; o < to; o++)
        for (N k = 0; k < w->b->many; k++) {
            float *image = w->images + (k * out + o) * n, *row = w->b->outputs + o * w->b->apart + k * n;
            memcpy(w->back ? image : row, w->back ? row : image, n * sizeof *row);
        }
}

// Windows of all outputs, (images, outputs, windows), from the i-th image on, to rows of outputs, or back.
static void exchange(const Blocks *b, float *images, N i, int back)
{
    Exchange work = {b, images + i * b->s->out * windows(b->s), back};
    in_shares(exchange_share, &work, b->s->out, least_of(b->columns));
}

static void multiply_share(void *work, N from, N to) { loops->multiply(work, from, to); }

static void multiply(Product p)
{
    in_shares(multiply_share, &p, (p.rows + BLOCK_ROWS - 1) / BLOCK_ROWS, least_of(p.n * p.columns));
}

typedef struct { const float *from; N apart, rows; float *to; N to_apart; } Turn;

static void turn_share(void *work, N from, N to)
{
    const Turn *w = work;
    turn(w->from + from, w->apart, w->rows, to - from, w->to + from * w->to_apart, w->to_apart);
}

static void turn_in_shares(const float *from, N apart, N rows, N columns, float *to, N to_apart)
{
    Turn work = {from, apart, rows, to, to_apart};
    in_shares(turn_share, &work, columns, least_of(rows));
}

int correlate_by_columns(const Sliding *s, PyArrayObject *x, PyArrayObject *w, PyArrayObject *bias, PyArrayObject *y)
{
    Blocks b;
    if (!begin(&b, s)) return 0;
    Py_BEGIN_ALLOW_THREADS
    for (N i = 0; next(&b, i); i += b.many) {
        lay_out(&b, data_of(x), i, 0);
        multiply((Product){data_of(w), b.laid, data_or_null(bias), b.outputs, s->out, b.reads, b.columns, b.reads, 1, b.apart, b.apart});
        exchange(&b, data_of(y), i, 1);
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(b.laid);
    return 1;
}

int spread_back_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *w, PyArrayObject *x)
{
    Blocks b;
    if (!begin(&b, s)) return 0;
    Py_BEGIN_ALLOW_THREADS
    memset(data_of(x), 0, PyArray_NBYTES(x));
    for (N i = 0; next(&b, i); i += b.many) {
        exchange(&b, data_of(g), i, 0);
        multiply((Product){data_of(w), b.outputs, NULL, b.laid, b.reads, s->out, b.columns, 1, b.reads, b.apart, b.apart});
        lay_out(&b, data_of(x), i, 1);
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(b.laid);
    return 1;
}

// The columns times the turned gradients, and this turned.
int weights_by_columns(const Sliding *s, PyArrayObject *g, PyArrayObject *x, PyArrayObject *dw)
{
    const N apart = apart_for(s->out);
    Blocks b;
    if (!begin(&b, s)) return 0;
    const N turned = b.columns * apart;
    float *room = PyMem_RawMalloc((turned + b.reads * apart) * sizeof *room);
    if (room) {
        Py_BEGIN_ALLOW_THREADS
        for (N i = 0; next(&b, i); i += b.many) {
            lay_out(&b, data_of(x), i, 0);
            exchange(&b, data_of(g), i, 0);
            turn_in_shares(b.outputs, b.apart, s->out, b.columns, room, apart);
            multiply((Product){b.laid, room, NULL, room + turned, b.reads, b.columns, s->out, b.apart, 1, apart, apart, i > 0});
        }
        turn_in_shares(room + turned, apart, b.reads, s->out, data_of(dw), b.reads);
        Py_END_ALLOW_THREADS
    } else PyErr_NoMemory();
    PyMem_RawFree(room);
    PyMem_RawFree(b.laid);
    return room != NULL;
}
