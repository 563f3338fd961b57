import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { createFakeUpstream } from '../../../../test/support/fake-upstream.ts';
import { watchDependencies } from '../../../core/dependency-cause.ts';
import type { SearchQuery } from '../../../core/web-search.ts';
import { brave } from './brave.ts';
import { createProvider } from './create-provider.ts';
import { searxng } from './searxng.ts';

const page = (url: string) => ({ url, title: 'T', content: 'c' });
const found = (...urls: readonly string[]): string => JSON.stringify({ results: urls.map(page) });

function start(options: { readonly api?: ReturnType<typeof searxng>; readonly readKey?: () => Promise<string> } = {}) {
  const upstream = createFakeUpstream();
  const clock = createFakeClock();
  const leaving = new AbortController();
  const watch = watchDependencies();
  const provider = createProvider(options.api ?? searxng(new URL('http://find.example:8888')), {
    ...{ upstream, clock, cluster: 'the-cluster' },
    readKey: options.readKey ?? (() => Promise.resolve('')),
    report: watch.of('web-search'),
  });
  return {
    failing: () => watch.failing().map(({ cause }) => cause),
    ...{ upstream, clock, leave: () => leaving.abort() },
    search: (query: Partial<SearchQuery> = {}) => provider.search({ query: 'q', ...query }, leaving.signal),
  };
}

describe('a provider', () => {
  it('is called through its cluster, under its own name', async () => {
    const { upstream, search } = start();
    const finding = search();
    const { call, answer } = await upstream.called(0);
    expect(call).toMatchObject({ cluster: 'the-cluster', authority: 'find.example:8888', path: '/search' });
    answer('application/json', found('https://a.example/'));
    expect(await finding).toMatchObject({ kind: 'found', hits: [{ url: 'https://a.example/' }] });
  });

  it('returns only pages of sites that the request allows', async () => {
    const { upstream, search } = start();
    const finding = search({ domains: { kind: 'allowed', names: ['a.example'] } });
    const hits = [
      'https://a.example/',
      'https://not-a.example/',
      'https://www.a.example/x',
      'ftp://a.example/',
      'nonsense',
    ];
    (await upstream.called(0)).answer('application/json', found(...hits, `https://a.example/${'x'.repeat(3000)}`));
    expect(await finding).toMatchObject({ hits: [{ url: hits[0] }, { url: hits[2] }] });
  });

  it.each([
    ['says nothing', 'no answer within 8000 ms'],
    ['cannot be reached', 'Envoy UF'],
    ['says too much', 'more than 2097152 bytes'],
    ['fails', 'status 503'],
    ['talks nonsense', 'an answer that cannot be read'],
  ])('that %s is tried once more, and no third time', async (how, detail) => {
    const { upstream, clock, search } = start();
    const finding = search();
    for (const index of [0, 1]) {
      const { head, data, end, fail, answer } = await upstream.called(index);
      if (how === 'says nothing') clock.advance(8000);
      else if (how === 'cannot be reached') fail('Envoy UF');
      else if (how === 'talks nonsense') answer('text/html', '<html>');
      else if (how === 'fails') {
        head(503);
        end();
      } else {
        head(200);
        for (let megabytes = 0; megabytes < 3; megabytes += 1) data(new Uint8Array(1024 * 1024));
      }
    }
    expect(await finding).toEqual({ kind: 'error', code: 'unavailable', detail });
    expect(upstream.calls).toHaveLength(2);
    if (how === 'says nothing') expect(upstream.calls.every((call) => call.aborted())).toBe(true);
  });

  it.each([
    [429, 'too_many_requests'],
    [401, 'unavailable'],
    [403, 'unavailable'],
    [432, 'unavailable'],
  ])('that answers with %s is not tried again', async (status, code) => {
    const { upstream, search } = start();
    const finding = search();
    const { head, end } = await upstream.called(0);
    head(status);
    end();
    expect(await finding).toEqual({ kind: 'error', code, detail: `status ${status}` });
    expect(upstream.calls).toHaveLength(1);
  });

  it.each([
    [401, '', 'credential-refused'],
    [402, '', 'no-quota'],
    [404, '', 'no-such-path'],
    [429, '', 'rate-limited'],
    [302, '', 'redirects'],
    [200, '<!doctype html>', 'not-an-api'],
    [200, '{}', 'unreadable'],
    [422, '', undefined],
    ['Envoy UF', '', 'connect-failed'],
  ] as const)('whose answer is %s %s fails by a cause, until a search succeeds', async (status, body, cause) => {
    const { upstream, search, failing } = start();
    const finding = search();
    const isTriedAgain = status === 200 || typeof status === 'string';
    for (const index of isTriedAgain ? [0, 1] : [0]) {
      const { head, data, end, fail } = await upstream.called(index);
      if (typeof status === 'string') fail(status);
      else {
        head(status);
        data(Buffer.from(body));
        end();
      }
    }
    await finding;
    expect(failing()).toEqual(cause === undefined ? [] : [cause]);
    const next = search();
    (await upstream.called(isTriedAgain ? 2 : 1)).answer('application/json', found('https://a.example/'));
    await next;
    expect(failing()).toEqual([]);
  });

  it('that refuses the location is asked again without it', async () => {
    const { upstream, search } = start({ api: brave(), readKey: () => Promise.resolve('key') });
    const finding = search({ location: { country: 'CH' } });
    const first = await upstream.called(0);
    first.head(422);
    first.end();
    const { call, answer } = await upstream.called(1);
    expect([first.call.path, call.path].map((path) => path.includes('country='))).toEqual([true, false]);
    answer('application/json', JSON.stringify({ web: { results: [] } }));
    expect(await finding).toEqual({ kind: 'found', hits: [] });
  });

  it('is abandoned at once when the caller leaves', async () => {
    const { upstream, search, leave } = start();
    const finding = search();
    const call = await upstream.called(0);
    leave();
    expect(await finding).toMatchObject({ kind: 'error' });
    expect(call.aborted()).toBe(true);
    expect(upstream.calls).toHaveLength(1);
  });

  it('whose key cannot be read is unavailable, and is not called', async () => {
    const { upstream, search } = start({ readKey: () => Promise.reject(new Error('ENOENT')) });
    expect(await search()).toEqual({ kind: 'error', code: 'unavailable', detail: 'its key file cannot be read' });
    expect(upstream.calls).toHaveLength(0);
  });
});
