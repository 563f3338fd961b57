// Loaded into a process under test with `--import`: on SIGUSR2 it collects its garbage, so that what its heap holds
// afterwards is what it keeps.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  collect();
  // What the first round finalises, the second one frees.
  setImmediate(collect);
});
