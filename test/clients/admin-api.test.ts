import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/sample-database.ts';
import { adminToken, samplePortal } from '../support/sample-portal.ts';
import { installGenerator } from './install.ts';

const run = promisify(execFile);

/** What a script says that makes a key, with the types of the description. */
const program = (field: string): string => `
import createClient from 'openapi-fetch';
import type { paths } from './admin-api.d.ts';

const [origin = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: origin, headers: { authorization: \`Bearer \${token}\` } });
const made = await client.POST('/api/v1/workspaces/{id}/keys', {
  params: { path: { id: 'acme' } },
  body: { ${field}: 'made by a client', budget: { limit: '5', period: 'month' } },
});
if (made.error) throw new Error(made.error.error.message);
const { data: found } = await client.GET('/api/v1/keys/{id}', { params: { path: { id: made.data.id } } });
const name: string | null | undefined = found?.name;
console.log(JSON.stringify({ status: made.response.status, key: made.data.key, name }));
`;

test('a client that is generated from the description of the API makes a key, and a wrong field does not compile', async () => {
  const installed = await installGenerator();
  const { server } = await samplePortal();
  const origin = await server.listen({ host: '127.0.0.1', port: 0 });
  const folder = temporaryFolder();
  const modules = join(installed, 'node_modules');
  symlinkSync(modules, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'openapi.json'), (await server.inject('/api/openapi.json')).body);
  const node = (script: string, ...rest: readonly string[]) =>
    run(process.execPath, [script, ...rest], { cwd: folder });
  // A field with a default may be left out of a request.
  await node(
    join(modules, 'openapi-typescript', 'bin', 'cli.js'),
    ...['openapi.json', '-o', 'admin-api.d.ts', '--default-non-nullable=false'],
  );
  for (const [file, field] of [
    ['right.ts', 'name'],
    ['wrong.ts', 'title'],
  ] as const) {
    writeFileSync(join(folder, file), program(field));
  }
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: true, allowImportingTsExtensions: true },
    ...{ target: 'esnext', module: 'nodenext', types: [] },
  };
  const check = (file: string) => {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
    return node(join(modules, 'typescript', 'bin', 'tsc')).then(
      () => '',
      (error: { readonly stdout: string }) => error.stdout,
    );
  };
  // Without the types of Node, `process` and `console` are the only names that the compiler does not know.
  const complaints = (text: string) =>
    text.split('\n').filter((line) => /error TS/.test(line) && !/'(process|console)'/.test(line));
  expect(complaints(await check('right.ts'))).toEqual([]);
  expect(complaints(await check('wrong.ts'))).toEqual([expect.stringContaining("'title'")]);
  const { stdout } = await node('right.ts', origin, adminToken);
  expect(JSON.parse(stdout)).toEqual({
    status: 201,
    key: expect.stringMatching(/^sk-weir-\w{49}$/),
    name: 'made by a client',
  });
  await server.close();
});
