import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createApiServer } from './api-server.ts';
import { recordExchange } from './exchanges.ts';

/** `test/kube/recorded-api-server.test.ts` compares it with a real API server, and writes it with `--update`. */
const file = join(import.meta.dirname, '..', 'recordings', 'api-server.jsonl');

it('answers as a real API server has answered', async () => {
  const server = createApiServer(() => 1_780_308_000_000);
  const requestOf = (method: string, target: string, body?: object) => {
    const { pathname: path, searchParams: query } = new URL(target, 'https://api');
    return { method, path, query, body };
  };
  const recording = await recordExchange(
    {
      ask: (method, target, body) => Promise.resolve(server.answer(requestOf(method, target, body))),
      watch: (path, from) => {
        const lines: string[] = [];
        const request = requestOf('GET', `${path}?watch=true&resourceVersion=${from}`);
        server.watch(request, (line) => lines.push(line))();
        return Promise.resolve(lines.map((line) => JSON.parse(line)));
      },
      forget: () => Promise.resolve(server.forget()),
    },
    'recorded',
  );
  const recorded = readFileSync(file, 'utf8').trim().split('\n');
  expect(recording.map((line) => JSON.parse(JSON.stringify(line)))).toEqual(recorded.map((line) => JSON.parse(line)));
});
