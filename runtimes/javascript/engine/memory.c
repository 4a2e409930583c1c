/* The interpreter's memory: blocks that touch each other, in lists by size, two levels deep ("TLSF"). libc's allocator
 * rounds every size up to a power of two and never joins what is free, which costs twice the memory.
 *
 * While the snapshot is made, what is freed is wiped: free memory is then zero pages that the image need not hold.
 *
 * A run writes as few pages of the snapshot as possible: the host has to copy each of them, and to keep the copy while the run
 * lasts. So what a run frees of the snapshot stays as it is, the gaps between its blocks are not used, and the memory for new
 * blocks lies together above it. */
#include <string.h>

#include "engine.h"

enum {
    ALIGN = 8,
    WASM_PAGE = 65536,
    /* Free blocks are kept by the power of two of their size, and each of those in this many steps. */
    STEPS_LOG = 4,
    STEPS = 1 << STEPS_LOG,
    /* Below this, every multiple of ALIGN has a list. */
    SMALL_LOG = 7,
    CLASSES = 32 - SMALL_LOG + 1,
    /* Memory is asked for in pieces of this size, to ask rarely. */
    GROWTH = 16 * WASM_PAGE,
    /* Held back, so that there is memory for the error that says there is none. */
    RESERVE = 1 << 20,
    /* Free memory at the end of the snapshot: enlarging a memory takes the host longer than a short run takes. */
    ROOM = RESERVE + (2 << 20),
};

struct block {
    struct block *below; /* the one before it in memory; NULL for the first of a region */
    uint32_t size_and_flags; /* of what follows the header */
    /* What follows belongs to the user, unless the block is free: */
    struct block *next, *previous;
};
enum { HEADER = 8, FREE = 1, LAST = 2, FLAGS = 7, LEAST = 8 };

static struct block *lists[CLASSES][STEPS];
static uint32_t classes_in_use, steps_in_use[CLASSES];
static struct block *top; /* the last block of the region that may grow */
static bool wiping = true;
static void *reserve;
static bool reserve_is_open;
bool memory_is_short;
const char *snapshot_end;

static uint32_t size_of(const struct block *block) { return block->size_and_flags & ~(uint32_t)FLAGS; }
static bool is_free(const struct block *block) { return block->size_and_flags & FREE; }
static bool is_last(const struct block *block) { return block->size_and_flags & LAST; }
static void *memory_of(struct block *block) { return (char *)block + HEADER; }
static struct block *block_of(void *memory) { return (struct block *)((char *)memory - HEADER); }
static struct block *above(struct block *block) { return (struct block *)((char *)block + HEADER + size_of(block)); }

static void set_size(struct block *block, uint32_t size)
{
    block->size_and_flags = size | (block->size_and_flags & FLAGS);
}

/* The list that a free block of this size is in. */
static void list_of(uint32_t size, int *class, int *step)
{
    int log = 31 - __builtin_clz(size);
    if (log < SMALL_LOG) {
        *class = 0;
        *step = (int)(size / ALIGN);
    } else {
        *class = log - SMALL_LOG + 1;
        *step = (int)(size >> (log - STEPS_LOG)) - STEPS;
    }
}

static void put(struct block *block)
{
    int class, step;
    list_of(size_of(block), &class, &step);
    block->size_and_flags |= FREE;
    block->previous = NULL;
    block->next = lists[class][step];
    if (block->next)
        block->next->previous = block;
    lists[class][step] = block;
    classes_in_use |= UINT32_C(1) << class;
    steps_in_use[class] |= UINT32_C(1) << step;
}

static void take(struct block *block)
{
    int class, step;
    list_of(size_of(block), &class, &step);
    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else if (!(lists[class][step] = block->next)) {
        steps_in_use[class] &= ~(UINT32_C(1) << step);
        if (!steps_in_use[class])
            classes_in_use &= ~(UINT32_C(1) << class);
    }
    block->size_and_flags &= ~(uint32_t)FREE;
    if (wiping)
        block->next = block->previous = NULL;
}

/* A free block of at least this size, from the first list whose blocks are all large enough. */
static struct block *find(uint32_t size)
{
    int class, step;
    uint32_t rounded = size;
    if (size >= UINT32_C(1) << SMALL_LOG)
        rounded += (UINT32_C(1) << (31 - __builtin_clz(size) - STEPS_LOG)) - 1;
    list_of(rounded, &class, &step);
    uint32_t steps = class < CLASSES ? steps_in_use[class] & (~UINT32_C(0) << step) : 0;
    if (!steps) {
        uint32_t classes = class + 1 < 32 ? classes_in_use & (~UINT32_C(0) << (class + 1)) : 0;
        if (!classes)
            return NULL;
        class = __builtin_ctz(classes);
        steps = steps_in_use[class];
    }
    return lists[class][__builtin_ctz(steps)];
}

/* Joins a block that is in no list with the free ones around it, and puts the whole into its list. */
static void join_and_put(struct block *block)
{
    if (!is_last(block) && is_free(above(block))) {
        struct block *next = above(block);
        take(next);
        block->size_and_flags |= next->size_and_flags & LAST;
        set_size(block, size_of(block) + HEADER + size_of(next));
        if (top == next)
            top = block;
        if (wiping)
            memset(next, 0, HEADER);
    }
    if (block->below && is_free(block->below)) {
        struct block *below = block->below;
        take(below);
        below->size_and_flags |= block->size_and_flags & LAST;
        set_size(below, size_of(below) + HEADER + size_of(block));
        if (top == block)
            top = below;
        if (wiping)
            memset(block, 0, HEADER);
        block = below;
    }
    if (!is_last(block))
        above(block)->below = block;
    put(block);
}

/* Gives what a block has too much back. */
static void trim(struct block *block, uint32_t size)
{
    uint32_t rest = size_of(block) - size;
    if (rest < HEADER + LEAST)
        return;
    struct block *tail = (struct block *)((char *)block + HEADER + size);
    tail->below = block;
    tail->size_and_flags = (rest - HEADER) | (block->size_and_flags & LAST);
    if (top == block)
        top = tail;
    block->size_and_flags &= ~(uint32_t)LAST;
    set_size(block, size);
    join_and_put(tail);
}

/* Asks for more memory, so that a free block of this size exists. */
static bool grow(uint32_t size)
{
    uint32_t wanted = size + 2 * HEADER;
    wanted = wanted > GROWTH ? wanted : GROWTH;
    uint32_t pages = (wanted + WASM_PAGE - 1) / WASM_PAGE;
    size_t start = __builtin_wasm_memory_grow(0, pages);
    if (start == (size_t)-1) {
        memory_is_short = true;
        pages = (size + 2 * HEADER + WASM_PAGE - 1) / WASM_PAGE;
        start = __builtin_wasm_memory_grow(0, pages);
        if (start == (size_t)-1)
            return false;
    }
    char *memory = (char *)(start * WASM_PAGE);
    uint32_t length = pages * WASM_PAGE;
    struct block *block;
    if (top && (char *)above(top) == memory) {
        /* It touches the last block: the header of the new one begins where that one ends. */
        block = (struct block *)memory;
        block->below = top;
        top->size_and_flags &= ~(uint32_t)LAST;
    } else {
        block = (struct block *)memory;
        block->below = NULL;
    }
    block->size_and_flags = (length - HEADER) | LAST;
    top = block;
    join_and_put(block);
    return true;
}

bool memory_keep(void)
{
    if (!is_free(top) || size_of(top) < ROOM)
        if (!grow(ROOM))
            return false;
    for (int class = 0; class < CLASSES; class++) {
        for (int step = 0; step < STEPS; step++) {
            while (lists[class][step])
                take(lists[class][step]);
        }
    }
    put(top);
    snapshot_end = (const char *)top;
    wiping = false;
    return true;
}

void *memory_allocate(size_t size)
{
    if (size > UINT32_MAX / 2)
        return NULL;
    uint32_t rounded = size < LEAST ? LEAST : ((uint32_t)size + ALIGN - 1) & ~(uint32_t)(ALIGN - 1);
    struct block *block = find(rounded);
    if (!block) {
        /* One step more, so that the new block is in a list that is searched. */
        if (!grow(rounded + (rounded >> STEPS_LOG)) && !grow(rounded))
            return NULL;
        block = find(rounded);
        if (!block)
            return NULL;
    }
    take(block);
    trim(block, rounded);
    return memory_of(block);
}

void memory_reserve(void) { reserve = memory_allocate(RESERVE); }

void memory_open_reserve(void)
{
    void *room = memory_allocate(RESERVE / 2);
    if (!room) {
        room = reserve;
        reserve = NULL;
        reserve_is_open = true;
    }
    memory_free(room);
}

/* Fills the reserve again once as much is left beside it. */
static void close_reserve(void)
{
    struct block *block = find(2 * RESERVE);
    if (!block)
        return;
    reserve_is_open = false;
    take(block);
    trim(block, RESERVE);
    reserve = memory_of(block);
}

void memory_free(void *memory)
{
    if (!memory || is_of_snapshot(memory))
        return;
    struct block *block = block_of(memory);
    if (wiping)
        memset(memory, 0, size_of(block));
    join_and_put(block);
    if (reserve_is_open)
        close_reserve();
}

void *memory_resize(void *memory, size_t size)
{
    if (!memory)
        return memory_allocate(size);
    if (size > UINT32_MAX / 2)
        return NULL;
    struct block *block = block_of(memory);
    uint32_t rounded = size < LEAST ? LEAST : ((uint32_t)size + ALIGN - 1) & ~(uint32_t)(ALIGN - 1);
    uint32_t old = size_of(block);
    bool is_kept = is_of_snapshot(memory);
    if (is_kept && rounded <= old)
        return memory;
    if (rounded > old && !is_last(block) && !is_kept) {
        /* Into the free block above it, if that is enough. */
        struct block *next = above(block);
        if (is_free(next) && old + HEADER + size_of(next) >= rounded) {
            take(next);
            block->size_and_flags |= next->size_and_flags & LAST;
            set_size(block, old + HEADER + size_of(next));
            if (top == next)
                top = block;
            if (!is_last(block))
                above(block)->below = block;
        }
    }
    if (rounded <= size_of(block)) {
        if (wiping && rounded < old)
            memset((char *)memory + rounded, 0, old - rounded);
        trim(block, rounded);
        return memory;
    }
    void *larger = memory_allocate(size);
    if (!larger)
        return NULL;
    memcpy(larger, memory, old);
    memory_free(memory);
    return larger;
}

static void *allocate(void *opaque, size_t size)
{
    (void)opaque;
    return memory_allocate(size);
}

static void *allocate_zeroed(void *opaque, size_t count, size_t size)
{
    void *memory = allocate(opaque, count * size);
    if (memory)
        memset(memory, 0, count * size);
    return memory;
}

static void release(void *opaque, void *memory)
{
    (void)opaque;
    memory_free(memory);
}

static void *resize(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    return memory_resize(memory, size);
}

static size_t usable_size(const void *memory)
{
    return memory ? size_of(block_of((void *)memory)) : 0;
}

const JSMallocFunctions memory_functions = {
    .js_calloc = allocate_zeroed,
    .js_malloc = allocate,
    .js_free = release,
    .js_realloc = resize,
    .js_malloc_usable_size = usable_size,
};
