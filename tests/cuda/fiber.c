/* SPDX-License-Identifier: MIT */
#include "tests/cuda/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 << 10) /* of address space; a page in front of it belongs to nobody */

#if defined(__x86_64__)

/* Saves what a call must preserve, and the stack; takes both from another place. */
void emu_switch(void **save, void *load);
__asm__(".text\n"
        ".type emu_switch, @function\n"
        ".hidden emu_switch\n"
        "emu_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emu_switch, .-emu_switch\n");

struct context {
    void *sp;
};

static void context_switch(struct context *from, struct context *to)
{
    emu_switch(&from->sp, to->sp);
}

static void context_start(struct context *c, char *stack, size_t n, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + n);

    top[-2] = (void *)(uintptr_t)entry; /* where emu_switch returns to; the stack is aligned as after a call */
    for (int i = 3; i <= 8; i++)
        top[-i] = NULL;
    c->sp = &top[-8];
}

#else

#include <ucontext.h>

struct context {
    ucontext_t u;
};

static void context_switch(struct context *from, struct context *to)
{
    swapcontext(&from->u, &to->u);
}

static void context_start(struct context *c, char *stack, size_t n, void (*entry)(void))
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = n;
    c->u.uc_link = NULL;
    makecontext(&c->u, entry, 0);
}

#endif

struct fiber {
    struct context context;
    char *stack;
    void (*run)(void *arg);
    void *arg;
    struct fiber *next; /* in stock */
};

static struct context main_context;
static struct fiber *stock, *running;

static void enter(void)
{
    running->run(running->arg);
    abort();
}

static struct fiber *make(void)
{
    struct fiber *f = calloc(1, sizeof *f);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = f ? mmap(NULL, STACK_BYTES + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;

    if (!f || at == MAP_FAILED || mprotect(at + page, STACK_BYTES, PROT_READ | PROT_WRITE)) {
        free(f);
        return NULL;
    }
    f->stack = at + page;
    return f;
}

struct fiber *fiber_new(void (*run)(void *arg), void *arg)
{
    struct fiber *f = stock;

    if (f)
        stock = f->next;
    else
        f = make();
    if (!f)
        return NULL;
    f->run = run;
    f->arg = arg;
    context_start(&f->context, f->stack, STACK_BYTES, enter);
    return f;
}

void fiber_free(struct fiber *f)
{
    if (!f)
        return;
    f->next = stock;
    stock = f;
}

void fiber_go(struct fiber *f)
{
    running = f;
    context_switch(&main_context, &f->context);
}

void fiber_wait(struct fiber *f)
{
    context_switch(&f->context, &main_context);
}
