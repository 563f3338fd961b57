import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { sampleDemand } from '../../test/support/sample-demand.ts';
import { createServicesDemand } from './services-demand.ts';

let clock: FakeClock;
let servers: Server[];
let problems: string[];
let asked: (readonly [number, number])[];

beforeEach(() => {
  clock = createFakeClock();
  [servers, problems, asked] = [[], [], []];
});
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const reporting = (...demands: readonly Parameters<typeof sampleDemand>[0][]) =>
  serve((_, response) => response.end(JSON.stringify({ backends: demands.map(sampleDemand) })));

const read = (origins: readonly string[], lookUp = async (host: string): Promise<readonly string[]> => [host]) =>
  createServicesDemand({
    ...{ origins, lookUp, clock },
    onProblem: (service, problem) => void problems.push(`${service}: ${problem}`),
    onAsked: (...counts) => void asked.push(counts),
  });

describe('the demand of all services', () => {
  it('has the report of each, at every address of a name', async () => {
    const [one, other] = await Promise.all([reporting({ work_tokens: 1 }), reporting({ work_tokens: 2 })]);
    const found = await read([one, other])();
    expect(found).toMatchObject({ asked: 2, reports: [[{ work_tokens: 1 }], [{ work_tokens: 2 }]] });
    const { port } = new URL(one);
    const ofName = read([`http://weir-ops:${port}`, one], async (host) =>
      host === 'weir-ops' ? ['127.0.0.1'] : [host],
    );
    // The name and the address are the same service.
    expect(await ofName()).toMatchObject({ asked: 1, reports: [[{ work_tokens: 1 }]] });
    expect(asked).toEqual([
      [2, 2],
      [1, 1],
    ]);
  });

  it('is asked for once a second', async () => {
    let questions = 0;
    const origin = await serve((_, response) => {
      questions += 1;
      response.end('{"backends":[]}');
    });
    const ask = read([origin]);
    await Promise.all([ask(), ask()]);
    clock.advance(999);
    await ask();
    expect(questions).toBe(1);
    clock.advance(1);
    await ask();
    expect(questions).toBe(2);
  });

  it('has those that answer, and reports the others', async () => {
    const good = await reporting({});
    const others = await Promise.all([
      serve((_, response) => response.writeHead(404).end()),
      serve((_, response) => response.writeHead(503).end()),
      serve((_, response) => response.end('{"backends":[{}]}')),
      serve((_, response) => response.end(`"${'x'.repeat(17 * 1024 * 1024)}"`)),
    ]);
    expect(await read([good, ...others])()).toMatchObject({ asked: 5, reports: [[{ backend: 'vllm-a' }]] });
    expect(problems.toSorted()).toEqual(
      [
        `${others[0]}: its version reports no demand`,
        `${others[1]}: it answers with 503`,
        `${others[2]}: its answer is not understood (backends.0.backend): another version?`,
        `${others[3]}: its answer is larger than 16777216 bytes`,
      ].toSorted(),
    );
  });

  it('does not count an address that refuses connections, because no request is served there', async () => {
    const [good, gone] = await Promise.all([reporting({}), reporting({})]);
    servers[1]?.close();
    servers[1]?.closeAllConnections();
    expect(await read([good, gone])()).toMatchObject({ asked: 1, reports: [[{ backend: 'vllm-a' }]] });
    expect(problems).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)]);
    expect(asked).toEqual([[2, 1]]);
  });

  it('does not wait for a service that is silent', async () => {
    let isAsked = false;
    const silent = await serve(() => {
      isAsked = true;
    });
    const answer = read([silent])();
    await expect.poll(() => isAsked).toBe(true);
    clock.advance(2000);
    await expect(answer).rejects.toThrow(`no service of the gateway answers: ${silent}: no answer within 2000 ms`);
    expect(clock.armed()).toBe(0);
  });

  it('is an error where no name has an address', async () => {
    await expect(read(['http://weir-ops:9090'], async () => [])()).rejects.toThrow(
      'no service of the gateway answers: http://weir-ops:9090: its name has no address',
    );
  });
});
