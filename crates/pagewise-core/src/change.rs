//! What a change to the host is: planned writes, and the journal entries that make it undoable.
