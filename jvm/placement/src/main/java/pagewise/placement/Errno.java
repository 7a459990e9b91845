package pagewise.placement;

/** Names of the error numbers that the calls of this package can give: Linux, {@code include/uapi/asm-generic/errno-base.h}, {@code errno.h}. */
final class Errno {
    static final int EPERM = 1;
    static final int EAGAIN = 11;
    static final int EINVAL = 22;

    private Errno() {}

    static String name(int number) {
        return switch (number) {
            case EPERM -> "EPERM";
            case 2 -> "ENOENT";
            case 3 -> "ESRCH";
            case 4 -> "EINTR";
            case 5 -> "EIO";
            case 9 -> "EBADF";
            case EAGAIN -> "EAGAIN";
            case 12 -> "ENOMEM";
            case 13 -> "EACCES";
            case 14 -> "EFAULT";
            case 16 -> "EBUSY";
            case 17 -> "EEXIST";
            case 19 -> "ENODEV";
            case EINVAL -> "EINVAL";
            case 23 -> "ENFILE";
            case 24 -> "EMFILE";
            case 25 -> "ENOTTY";
            case 28 -> "ENOSPC";
            case 38 -> "ENOSYS";
            case 95 -> "EOPNOTSUPP";
            case 133 -> "EHWPOISON";
            default -> "errno " + number;
        };
    }
}
