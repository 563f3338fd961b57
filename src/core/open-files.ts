/** The size of this folder is the number of open files, from Linux 6.2 on (proc(5), `/proc/pid/fd`). */
export const openFilesFolder = '/proc/self/fd';

/** Whether the size of the folder is the number of open files. Reading it needs no free file descriptor, and makes no list. */
export function countsOpenFiles(platform: string, kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.', 2).map(Number);
  return platform === 'linux' && (major > 6 || (major === 6 && minor >= 2));
}
