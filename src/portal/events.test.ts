import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { adminToken, asBrowser, memberOf, samplePortal, signIn, withToken } from '../../test/support/sample-portal.ts';
import { sampleStory } from '../../test/support/sample-story.ts';
import { shownRequest } from '../books/core/request-fields.ts';
import type { PortalEvent } from './api/events.ts';
import { createEventHub, type Reader } from './event-hub.ts';

const everything: Reader = {
  sessionHash: undefined,
  expiresAt: undefined,
  person: 'tester',
  allow: (event) => event,
  renew: () => undefined,
};
const about = { workspaceId: undefined };
const balance = (amount: string): PortalEvent => ({
  name: 'balance',
  data: { workspace_id: 'ws_1', workspace: 'acme', balance: amount },
});

/** The events that a stream has brought so far, and those that come. */
function read(stream: Readable) {
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  onTestFinished(() => void stream.destroy());
  const events = () =>
    [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(
      ([, name = '', data = '']) => [name, JSON.parse(data)] as const,
    );
  return { events, text: () => text, names: () => events().map(([name]) => name) };
}

describe('the hub of events', () => {
  it('drops events for a reader that does not read, in bounded memory, and counts them', async () => {
    const hub = createEventHub(createFakeClock());
    onTestFinished(hub.close);
    const stalled = hub.open(everything, []);
    const quick = hub.open(everything, []);
    const seen = read(quick);
    const count = 5_000;
    for (let index = 0; index < count; index += 1) {
      hub.publish([{ event: balance(`${index}`), about }]);
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => seen.events().length).toBe(count);
    expect(stalled.readableLength).toBeLessThan(80 * 1024);
    const late = read(stalled);
    await expect.poll(() => late.names()).toContain('missed');
    const missed = late
      .events()
      .flatMap(([name, data]) => (name === 'missed' ? [(data as { events: number }).events] : []));
    const got = late.names().filter((name) => name === 'balance').length;
    expect(got + missed.reduce((sum, one) => sum + one, 0)).toBe(count);
  });

  it('ends a stream with its session, also while nobody can read the session', async () => {
    const clock = createFakeClock();
    const hub = createEventHub(clock);
    onTestFinished(hub.close);
    const reader = { ...everything, sessionHash: 'h1', expiresAt: clock.now() + 9_000 };
    const [ofSession, ofToken] = [read(hub.open(reader, [])), read(hub.open(everything, []))];
    clock.advance(8_999);
    hub.publish([{ event: balance('1'), about }]);
    clock.advance(1);
    hub.publish([{ event: balance('2'), about }]);
    await expect.poll(ofToken.names).toEqual(['balance', 'balance']);
    await expect.poll(ofSession.names).toEqual(['balance', 'ended']);
    expect(hub.readers()).toBe(1);
  });

  it('sends a heartbeat on a quiet stream every 15 seconds, and forgets a reader that left', async () => {
    const clock = createFakeClock();
    const hub = createEventHub(clock);
    onTestFinished(hub.close);
    const stream = hub.open(everything, []);
    const seen = read(stream);
    await expect.poll(seen.text).toContain('retry: 2000');
    clock.advance(15_000);
    await expect.poll(seen.text).toContain(': here\n\n');
    expect(hub.readers()).toBe(1);
    stream.destroy();
    await once(stream, 'close');
    expect(hub.readers()).toBe(0);
  });
});

describe('GET /events', () => {
  async function openAs(server: Awaited<ReturnType<typeof samplePortal>>['server'], headers: Record<string, string>) {
    const reply = await server.inject({ url: '/api/v1/events', headers, payloadAsStream: true });
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    return read(reply.stream());
  }

  it('begins with the balances and the problems, and sends each change of a balance', async () => {
    const { server, accounts, clock, workspace } = await samplePortal({
      problems: {
        services: [{ service: 'http://127.0.0.1:9090', answers: false, problem: 'nothing listens' }],
        data: [],
      },
    });
    const seen = await openAs(server, withToken);
    await expect.poll(seen.names).toEqual(['balance', 'balance', 'health']);
    expect(seen.events()[2]?.[1]).toMatchObject({
      problems: [{ object: 'service/127.0.0.1:9090', problem: 'Does not answer: nothing listens.' }],
    });
    const by = { actor: { kind: 'command-line', name: 'x' }, now: sampleNow } as const;
    await accounts.creditWorkspace('acme', { amount: 10n ** 12n, note: undefined }, by);
    await expect
      .poll(() => {
        clock.advance(1_000);
        return seen.events().at(-1)?.[1];
      })
      .toEqual(expect.objectContaining({}));
    await expect
      .poll(() => {
        clock.advance(1_000);
        return seen
          .events()
          .filter(([name, data]) => name === 'balance' && (data as { balance: string }).balance === '11');
      })
      .toEqual([['balance', { workspace_id: workspace.id, workspace: 'acme', balance: '11' }]]);
  });

  it('sends a request that has ended exactly as the list of requests has it', async () => {
    const { server, followers, settle, ids } = await samplePortal();
    const seen = await openAs(server, withToken);
    await expect.poll(seen.names).toContain('health');
    const outcome = sampleOutcome({ ...ids, attempts: 3, routes: 1, cost: 8_400_000n });
    await settle([outcome]);
    // The story names two routes: how many were asked is for the ledger to say.
    const [attempt] = sampleStory().attempts ?? [];
    if (attempt === undefined) throw new Error('the sample has no attempt');
    const story = sampleStory({ id: outcome.requestId, attempts: [attempt, { ...attempt, route: 'test/model@b' }] });
    const settled = shownRequest({ outcome, workspace: ids.workspaceId });
    for (const follower of followers)
      follower.stories([
        { ...story, settled },
        { ...sampleStory(), settled: null },
      ]);
    await expect.poll(seen.names).toContain('request');
    const listed = (await server.inject({ url: '/api/v1/requests', headers: withToken })).json<{ data: unknown[] }>();
    expect(listed.data).toEqual([expect.objectContaining({ workspace: 'acme', routes: 1, cost: '0.0000084' })]);
    expect(seen.events().filter(([name]) => name === 'request')).toEqual([['request', listed.data[0]]]);
  });

  it('brings no more events of a workspace from which its reader was removed meanwhile', async () => {
    const sample = await samplePortal();
    const { accounts, server, clock, otherWorkspace, workspace } = sample;
    const by = { actor: { kind: 'command-line', name: 'x' }, now: sampleNow } as const;
    const other = await accounts.inviteMember('other', { address: 'ada@example.com', role: 'owner' }, by);
    await accounts.inviteMember('other', { address: 'max@example.com', role: 'owner' }, by);
    const ada = await memberOf(sample, workspace.id, { address: 'ada@example.com' });
    const seen = await openAs(server, asBrowser(ada));
    const balancesOf = (id: string): readonly string[] =>
      seen
        .events()
        .flatMap(([name, data]) => (name === 'balance' ? [data as Record<'workspace_id' | 'balance', string>] : []))
        .flatMap((data) => (data.workspace_id === id ? [data.balance] : []));
    await expect.poll(() => balancesOf(otherWorkspace.id)).toHaveLength(1);
    await accounts.removeMember(other, by);
    // One look of the feed reads the roles before it publishes the balances.
    await accounts.creditWorkspace('other', { amount: 10n ** 12n, note: undefined }, by);
    await accounts.creditWorkspace('acme', { amount: 10n ** 12n, note: undefined }, by);
    await expect
      .poll(() => {
        clock.advance(1_000);
        return balancesOf(workspace.id);
      })
      .toContain('11');
    expect(balancesOf(otherWorkspace.id)).toHaveLength(1);
  });

  it('ends at once when the session ends, here and elsewhere', async () => {
    const { server, clock, accounts, portal } = await samplePortal();
    const here = asBrowser(await signIn(server, { token: adminToken }));
    const seen = await openAs(server, here);
    await server.inject({ method: 'DELETE', url: '/api/v1/session', headers: here });
    await expect.poll(seen.names).toContain('ended');
    const other = asBrowser(await signIn(server, { token: adminToken }));
    const watched = await openAs(server, other);
    const [hash = ''] = portal.events.sessions();
    await accounts.endSession(hash);
    await expect
      .poll(() => {
        clock.advance(1_000);
        return watched.names();
      })
      .toContain('ended');
    expect(portal.events.readers()).toBe(0);
  });
});
