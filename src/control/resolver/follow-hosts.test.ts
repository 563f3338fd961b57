import { beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import type { FollowEndpoints, FoundEndpoints, HostPort, HostsSource } from '../../core/endpoint.ts';
import { createHostFollower } from './follow-hosts.ts';

let clock: FakeClock;
/** Look-ups that have not ended, in the order in which they began. */
let underWay: { readonly host: string; readonly end: (found: readonly string[] | 'fails') => Promise<void> }[];
/** Every look-up that began. */
let asked: string[];
let followHosts: FollowEndpoints<HostsSource>;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

beforeEach(() => {
  clock = createFakeClock();
  underWay = [];
  asked = [];
  followHosts = createHostFollower({
    clock,
    lookUp: (host) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      const one = {
        host,
        end: (found: readonly string[] | 'fails') => {
          underWay.splice(underWay.indexOf(one), 1);
          if (found === 'fails') reject(new Error('the name server is away'));
          else resolve(found);
          return turns();
        },
      };
      asked.push(host);
      underWay.push(one);
      return promise;
    },
  });
});

/** Follows hosts, and tells what was found: the names of the endpoints, or why there are none. */
function follow(...hosts: readonly (string | HostPort)[]) {
  const found: FoundEndpoints[] = [];
  const stop = followHosts(
    {
      kind: 'hosts',
      hosts: hosts.map((host) => (typeof host === 'string' ? { host, port: 8000 } : host)),
    },
    { scheme: 'http', onFound: (now) => found.push(now) },
  );
  const told = (): readonly (readonly string[] | string)[] =>
    found.map(({ endpoints, trouble }) => trouble ?? endpoints.map(({ name }) => name));
  return { found, told, stop };
}

const end = (host: string, found: readonly string[] | 'fails'): Promise<void> => {
  const one = underWay.find((candidate) => candidate.host === host);
  if (one === undefined) throw new Error(`${host} is not looked up`);
  return one.end(found);
};

describe('the addresses of a name', () => {
  it('are reported with its port and its own Host header, sorted, once all are known', async () => {
    const { found } = follow('a.svc', { host: 'b.svc', port: 80 });
    await end('a.svc', ['10.0.0.2', '10.0.0.1', '10.0.0.2']);
    expect(found).toEqual([]);
    await end('b.svc', ['fd00::1']);
    expect(found).toEqual([
      {
        trouble: undefined,
        endpoints: [
          { name: '10.0.0.1:8000', address: '10.0.0.1', port: 8000, authority: 'a.svc:8000', zone: undefined },
          { name: '10.0.0.2:8000', address: '10.0.0.2', port: 8000, authority: 'a.svc:8000', zone: undefined },
          { name: '[fd00::1]:80', address: 'fd00::1', port: 80, authority: 'b.svc', zone: undefined },
        ],
      },
    ]);
  });

  it('are looked up every 5 s, and reported when they have changed', async () => {
    const { told } = follow('a.svc');
    await end('a.svc', ['10.0.0.1', '10.0.0.2']);
    for (const answer of [['10.0.0.2', '10.0.0.1'], ['10.0.0.2'], ['10.0.0.2']]) {
      clock.advance(4_999);
      expect(underWay).toEqual([]);
      clock.advance(1);
      await end('a.svc', answer);
    }
    expect(told()).toEqual([['10.0.0.1:8000', '10.0.0.2:8000'], ['10.0.0.2:8000']]);
  });

  it('are kept while they cannot be looked up, which is tried every second', async () => {
    const { told } = follow('a.svc');
    await end('a.svc', ['10.0.0.1']);
    clock.advance(5_000);
    for (let failure = 0; failure < 100; failure += 1) {
      await end('a.svc', 'fails');
      clock.advance(1_000);
    }
    expect(told()).toEqual([['10.0.0.1:8000']]);
    await end('a.svc', ['10.0.0.9']);
    expect(told().at(-1)).toEqual(['10.0.0.9:8000']);
  });

  it('are gone when the name has none twice in a row', async () => {
    const { told } = follow('a.svc');
    await end('a.svc', ['10.0.0.1']);
    clock.advance(5_000);
    await end('a.svc', []);
    clock.advance(1_000);
    await end('a.svc', ['10.0.0.1']);
    clock.advance(5_000);
    await end('a.svc', []);
    expect(told()).toEqual([['10.0.0.1:8000']]);
    clock.advance(1_000);
    await end('a.svc', []);
    expect(told().at(-1)).toBe('spec.endpoint.host: "a.svc" has no address');
  });

  it('are one endpoint where two names lead to it, and two with two ports', async () => {
    const { found } = follow('a.svc', 'b.svc', { host: 'b.svc', port: 9 });
    await end('a.svc', ['10.0.0.1']);
    await end('b.svc', ['10.0.0.1']);
    expect(found[0]?.endpoints.map(({ name, authority }) => [name, authority])).toEqual([
      ['10.0.0.1:8000', 'a.svc:8000'],
      ['10.0.0.1:9', 'b.svc:9'],
    ]);
  });
});

describe('a name that is not known', () => {
  it('is reported at once when it has no address, and when it has one later', async () => {
    const { told } = follow('a.svc');
    await end('a.svc', []);
    clock.advance(1_000);
    await end('a.svc', ['10.0.0.1']);
    expect(told()).toEqual(['spec.endpoint.host: "a.svc" has no address', ['10.0.0.1:8000']]);
  });

  it('is reported when the first look-up fails', async () => {
    const { told } = follow('a.svc');
    await end('a.svc', 'fails');
    expect(told()).toEqual(['spec.endpoint.host: "a.svc" cannot be resolved']);
  });

  it('holds up the others of its source for a second only', async () => {
    const { told } = follow('a.svc', 'slow.svc');
    await end('a.svc', ['10.0.0.1']);
    clock.advance(999);
    expect(told()).toEqual([]);
    clock.advance(1);
    expect(told()).toEqual([['10.0.0.1:8000']]);
    await end('slow.svc', ['10.0.0.2']);
    expect(told().at(-1)).toEqual(['10.0.0.1:8000', '10.0.0.2:8000']);
  });

  it('takes one look-up at a time with all others that fail, so that the rest go on', async () => {
    follow('bad-1.svc', 'bad-2.svc');
    await end('bad-1.svc', 'fails');
    await end('bad-2.svc', 'fails');
    clock.advance(1_000);
    expect(underWay.map(({ host }) => host)).toEqual(['bad-1.svc']);
    const { told } = follow('good.svc');
    await end('good.svc', ['10.0.0.1']);
    expect(told()).toEqual([['10.0.0.1:8000']]);
    clock.advance(5_000);
    expect(underWay.map(({ host }) => host)).toEqual(['bad-1.svc', 'good.svc']);
  });
});

it('looks up two names at a time, in turn', async () => {
  follow('a.svc', 'b.svc', 'c.svc');
  expect(asked).toEqual(['a.svc', 'b.svc']);
  await end('b.svc', ['10.0.0.1']);
  expect(asked).toEqual(['a.svc', 'b.svc', 'c.svc']);
  expect(underWay).toHaveLength(2);
});

it('looks a name up once for all that follow it', async () => {
  const one = follow('a.svc');
  const other = follow({ host: 'a.svc', port: 9 });
  expect(asked).toEqual(['a.svc']);
  await end('a.svc', ['10.0.0.1']);
  expect([one.told(), other.told()]).toEqual([[['10.0.0.1:8000']], [['10.0.0.1:9']]]);
  const late = follow('a.svc');
  expect(late.told()).toEqual([['10.0.0.1:8000']]);
  one.stop();
  clock.advance(5_000);
  expect(asked).toEqual(['a.svc', 'a.svc']);
});

it('knows an address at once, in the spelling of Envoy', () => {
  const { told } = follow('10.0.0.1', '2001:DB8:0:0::0001');
  expect(told()).toEqual([['10.0.0.1:8000', '[2001:db8::1]:8000']]);
  expect([asked, clock.armed()]).toEqual([[], 0]);
});

it('does not take for an address what is none', () => {
  follow('999.1.1.1');
  expect(asked).toEqual(['999.1.1.1']);
});

it('reports nothing and leaves no timer when it has been stopped', async () => {
  const { told, stop } = follow('a.svc', 'b.svc');
  await end('a.svc', ['10.0.0.1']);
  stop();
  await end('b.svc', ['10.0.0.2']);
  expect([told(), clock.armed()]).toEqual([[], 0]);
});
