import { readFileSync, renameSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';
import { runFolder } from '../config/run-folder.ts';
import { openServicesFile } from './services-file.ts';

it('states that cannot be written are written by the next call with them', () => {
  const files = runFolder(temporaryFolder());
  const services = openServicesFile({
    ...{ files, clock: createFakeClock(), first: ['serving', 'serving'] },
    admin: { stats: () => Promise.resolve(new Map()) },
  });
  const read = () => readFileSync(files.servicesFile, 'utf8');
  const before = read();
  const elsewhere = `${files.servicesFolder}-moved`;
  renameSync(files.servicesFolder, elsewhere);
  services.set(['away', 'serving']);
  renameSync(elsewhere, files.servicesFolder);
  expect(read()).toBe(before);
  services.set(['away', 'serving']);
  const after = read();
  expect(after).not.toBe(before);
  // What is written is not written again.
  services.set(['away', 'serving']);
  expect(read()).toBe(after);
});
