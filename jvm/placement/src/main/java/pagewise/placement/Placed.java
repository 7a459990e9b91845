package pagewise.placement;

/**
 * What {@link Placement} did, with the kernel's account of it.
 *
 * @param outcome      whether all huge pages that could be made were made, and of how many bytes; or why not
 * @param coverage     by the kernel: the huge pages' worth of memory in which the objects lie, what is resident of it and what is huge.
 *                     Its range reaches from the lowest to the highest of them, the numbers are of them alone
 * @param objects      met in the walk
 * @param youngObjects of them in the young generation: not placed, since the next collection moves them. They can be placed once they are old
 * @param unseenFields that could not be read, so that what hangs on them was not placed
 */
public record Placed(Outcome outcome, Coverage coverage, long objects, long youngObjects, long unseenFields) {
    @Override
    public String toString() {
        return outcome.text() + "; " + objects + " objects" + (youngObjects == 0 ? "" : ", " + youngObjects + " of them still young")
                + (unseenFields == 0 ? "" : ", " + unseenFields + " fields could not be read (--add-opens)")
                + (coverage.known()
                        ? "; where they lie " + coverage.resident() + " bytes are resident, " + coverage.huge() + " on huge pages"
                        : "; coverage unknown: " + coverage.missing());
    }
}
