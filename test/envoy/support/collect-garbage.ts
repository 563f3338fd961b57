// Loaded into a process under test with `--import`: on SIGUSR2 it collects its garbage, so that what its heap holds
// afterwards is what it keeps.
import { findCollector } from '../../../src/process/collect-garbage.ts';

const collect = findCollector();
process.on('SIGUSR2', () => {
  collect({ type: 'major' });
  // What the first round finalises, the second one frees.
  setImmediate(() => collect({ type: 'major' }));
});
