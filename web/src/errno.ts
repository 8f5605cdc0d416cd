// The names of Linux's error numbers, as `result` of the kernel table has them negated.
const FIRST =
  "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV " +
  "ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK " +
  "ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP";
const SOCKETS =
  "ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT " +
  "EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN " +
  "ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE";
const FIRST_SOCKET = 88;
const UNKNOWN_FAILURE = 32766;

const names = new Map<number, string>([
  ...FIRST.split(" ").map((name, place): [number, string] => [place + 1, name]),
  ...SOCKETS.split(" ").map((name, place): [number, string] => [place + FIRST_SOCKET, name]),
  [61, "ENODATA"],
  [75, "EOVERFLOW"],
  [122, "EDQUOT"],
]);

/** "ok", "unknown", "failed", or the name of the error. */
export function resultWord(result: number): string {
  if (Number.isNaN(result)) return "unknown";
  if (result === 0) return "ok";
  if (result === UNKNOWN_FAILURE) return "failed";
  return names.get(-result) ?? `error ${-result}`;
}
