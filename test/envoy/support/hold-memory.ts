// Loaded into a process under test with `--import`: on SIGUSR2 it holds 512 MiB, and on the next it lets go of them. They are
// garbage then, which nothing but a collection frees.
let held: Buffer | undefined;
process.on('SIGUSR2', () => {
  held = held === undefined ? Buffer.alloc(512 * 1024 * 1024) : undefined;
});
