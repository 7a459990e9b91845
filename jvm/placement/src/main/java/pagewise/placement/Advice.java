package pagewise.placement;

/**
 * What may be said to the kernel about a range of memory. All of it keeps the content of the range: nothing here can discard
 * what a JVM holds, so an address that has meanwhile become something else costs work and never data. Numbers: Linux,
 * {@code include/uapi/asm-generic/mman-common.h}.
 */
public enum Advice {
    /** Pages that are touched from now on may be huge, and khugepaged may look here. Nothing present changes. */
    HUGEPAGE(14),
    /** Pages that are touched from now on are small. Nothing present changes. */
    NOHUGEPAGE(15),
    /** Write-fault every page now, content kept. Linux 5.14 and later. */
    POPULATE_WRITE(23),
    /** Put what is present on huge pages now, whatever the host's mode. Pages absent so far become present. Linux 6.1 and later. */
    COLLAPSE(25);

    final int number;

    Advice(int number) {
        this.number = number;
    }
}
