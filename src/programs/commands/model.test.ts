import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleNow, temporaryFolder } from '../../../test/support/sample-database.ts';
import { keepVectorReference } from '../../books/accounts/vector-references.ts';
import { openDatabase } from '../../books/databases/open-database.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

it('lists reference vectors, and accepts those that a route makes now', async () => {
  const data = temporaryFolder();
  const run = (...args: readonly string[]) => runCommand(['model', ...args, '--data', data]);
  const database = await openDatabase(
    { kind: 'sqlite', file: join(data, 'weir.db') },
    { missing: 'create', user: 'service' },
  );
  await keepVectorReference(
    database.queries,
    {
      ...{ modelId: 'acme/embed', routeId: 'acme/embed@a', upstreamModel: 'bge', texts: 'digest', dimensions: 2 },
      ...{ since: sampleNow, vectors: [Float32Array.of(1, 2)] },
    },
    undefined,
  );
  await database.close();
  expect((await run('vectors')).stdout).toMatch(/^acme\/embed +acme\/embed@a +bge +2 +2026-07-01$/m);
  expect(await run('accept-vectors', 'acme/other')).toMatchObject({
    ...{ code: 1, stderr: expect.stringMatching(/"acme\/other" has no reference vectors/) },
  });
  const { stdout } = await run('accept-vectors', 'Acme/embed', '--route', 'acme/embed@b');
  expect(stdout).toMatch(/^The next vectors of acme\/embed@b are the reference of acme\/embed\./);
  expect(JSON.parse((await run('vectors', '--json')).stdout)).toMatchObject([
    { model: 'acme/embed', route: 'acme/embed@b', awaited: true, upstream_model: null },
  ]);
});
