// Loaded into a process under test with `--import`: on SIGUSR2 it collects its garbage, so that what its heap holds
// afterwards is what it keeps.
import { collectGarbage } from '../../support/kept-heap.ts';

process.on('SIGUSR2', () => {
  collectGarbage();
  setImmediate(collectGarbage);
});
