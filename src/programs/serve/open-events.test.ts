// @suite both-databases
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished } from 'vitest';
import { watchDependencies } from '../../core/dependency-cause.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { SubscriptionFigures } from '../../core/event-delivery.ts';
import { startAlerts } from '../../control/reconcilers/find-alerts.ts';
import { startSending } from '../../control/reconcilers/send-events.ts';
import type { AlertStore, EventStore } from '../../control/reconcilers/store-port.ts';
import { createWebhookSender, retryAfterMs } from '../../gateway/egress/send-webhook.ts';
import { sending } from '../../books/store/account-operations.ts';
import { changeKey } from '../../books/accounts/change-keys.ts';
import { listAlerts } from '../../books/accounts/alerts.ts';
import { listAudit } from '../../books/accounts/audit.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const dollar = 1_000_000_000_000n;
const stepMs = 5_000;
const subscriptions = [{ name: 'alerts', kinds: ['message'] }] as const;
const dayMs = 86_400_000;

type Answer = 'accept' | 'refuse' | 'throttle' | 'hold' | 'hang-up';

/** A receiver that verifies each message with the published library of Standard Webhooks. */
async function openReceiver(now: () => number) {
  const received: { readonly id: string; readonly percent: number; readonly answer: Answer }[] = [];
  const bodies = new Map<string, string>();
  const state = { answer: 'accept' as Answer, held: new Set<ServerResponse>() };
  const webhook = new Webhook(secret);
  const changed = new EventEmitter();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    // The library compares the time with the real clock, so its part without the clock is used, and the time is compared here.
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signatures } = headers;
    const expected = webhook.sign(id, new Date(Number(timestamp) * 1000), body);
    expect(signatures?.split(' ')).toContain(expected);
    expect(Math.abs(Number(timestamp) * 1000 - now())).toBeLessThan(60_000);
    expect(bodies.get(id) ?? body).toBe(body);
    bodies.set(id, body);
    const message = JSON.parse(body) as { readonly data: { readonly threshold_percent: number } };
    received.push({ id, percent: message.data.threshold_percent, answer: state.answer });
    if (state.answer === 'accept') response.writeHead(204).end();
    else if (state.answer === 'refuse') response.writeHead(500).end('no');
    else if (state.answer === 'throttle') response.writeHead(429, { 'retry-after': '600' }).end('later');
    else if (state.answer === 'hang-up') request.socket.destroy();
    else {
      state.held.add(response);
      changed.emit('change');
      response.once('close', () => state.held.delete(response));
    }
  };
  const problems: unknown[] = [];
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      problems.push(error);
      response.writeHead(400).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    expect(problems).toEqual([]);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/weir`, received, state, changed };
}

/** Services beside each other on one database, each with a thread and a connection of its own, in virtual time. */
async function openServices(count: number) {
  const { queries, location, ids, settle, key } = await sampleDatabase('1000');
  await changeKey(queries, key.id, { budget: { limit: 100n * dollar, period: 'day' } }, sampleAuthor);
  const clock = createFakeClock(sampleNow);
  const receiver = await openReceiver(clock.now);
  const busy = { store: 0, send: 0 };
  const { changed } = receiver;
  const counted =
    <Given extends readonly unknown[], Result>(part: keyof typeof busy, run: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      busy[part] += 1;
      try {
        return await run(...given);
      } finally {
        busy[part] -= 1;
        changed.emit('change');
      }
    };
  const services = Array.from({ length: count }, (_, index) => {
    const thread = openAccountsThread(location, sending, { name: 'alerts', silenceMs: 60_000, idleMs: 60_000 });
    const sender = createWebhookSender({ url: receiver.url, readSecrets: async () => secret, clock });
    const store: AlertStore & EventStore = {
      recordReached: counted('store', thread.store.recordReached),
      avoidableLimits: counted('store', thread.store.avoidableLimits),
      keepSubscriptions: counted('store', thread.store.keepSubscriptions),
      closeMonths: counted('store', thread.store.closeMonths),
      nextMessages: counted('store', thread.store.nextMessages),
      endMessages: counted('store', thread.store.endMessages),
      waitingEvents: counted('store', thread.store.waitingEvents),
      leaveSubscriptions: counted('store', thread.store.leaveSubscriptions),
    };
    const problems: string[] = [];
    const log = ({ problem }: { readonly problem?: unknown }): number => problems.push(String(problem));
    const parts = { store, clock, changes: () => undefined, log };
    const alerts = startAlerts({ ...parts, subscriptions });
    const webhooks = startSending({
      ...{ ...parts, name: 'alerts', holder: `service ${index}`, maxWaiting: 1_000 },
      send: counted('send', sender.send),
    });
    const closeAll = async (): Promise<void> => {
      await alerts.close();
      await webhooks.close();
      await thread.close();
      await sender.close();
    };
    return { closeAll, thread, problems, figures: webhooks.figures };
  });
  onTestFinished(async () => {
    receiver.state.answer = 'accept';
    for (const response of receiver.state.held) response.writeHead(204).end();
    await Promise.all(services.map(({ closeAll }) => closeAll()));
  });
  let requests = 0;

  /** Lets time pass. Between the steps all work ends that does not wait for the receiver. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      let quiet = 0;
      while (quiet < 3) {
        await new Promise((resolve) => setImmediate(resolve));
        const isQuiet = busy.store === 0 && busy.send <= receiver.state.held.size;
        quiet = isQuiet ? quiet + 1 : 0;
        if (!isQuiet) await once(changed, 'change');
      }
    }
  }
  return {
    ...{ queries, ids, receiver, services, pass, clock },
    spend: async (usd: bigint) => {
      requests += 1;
      const startedAt = clock.now();
      await settle([sampleOutcome({ ...ids, requestId: `req-${requests}`, cost: usd * dollar, startedAt })]);
    },
    alerts: async () => listAlerts(queries, ids.workspaceId, 999),
  };
}

it('each threshold arrives once from two services, in each of ten periods', { timeout: 120_000 }, async () => {
  const { queries, receiver, pass, spend, alerts, clock } = await openServices(2);
  for (let day = 0; day < 10; day += 1) {
    await spend(96n);
    await pass(30_000);
    clock.jump(sampleNow + (day + 1) * dayMs - clock.now());
  }
  const recorded = await alerts();
  expect(recorded.filter(({ kind }) => kind === 'budget')).toHaveLength(30);
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(recorded.map(({ id }) => id).toSorted());
  expect(recorded.every(({ delivery }) => delivery === 'delivered')).toBe(true);
  const audited = (await listAudit(queries, {}, 999)).flatMap(({ after }) =>
    'alert' in after ? [after['alert']] : [],
  );
  expect(new Set(audited)).toEqual(new Set(recorded.map(({ id }) => id)));
  expect(audited).toHaveLength(recorded.length);
});

it('messages arrive with their first ids after a receiver was dead for an hour', { timeout: 120_000 }, async () => {
  const { receiver, services, pass, spend, alerts } = await openServices(2);
  type Count = Extract<keyof SubscriptionFigures, 'delivered' | 'failedTries' | 'waiting' | 'dropped'>;
  const counted = (kind: Count) => services.map(({ figures }) => figures()[kind]);
  const inAll = (kind: Count) => counted(kind).reduce((sum, count) => sum + count, 0);
  receiver.state.answer = 'hang-up';
  await spend(81n);
  await pass(3_600_000);
  expect(counted('waiting')).toEqual([2, 2]);
  expect([inAll('delivered'), inAll('dropped'), inAll('failedTries')]).toEqual([0, 0, receiver.received.length]);
  const before = new Set(receiver.received.map(({ id }) => id));
  expect(before.size).toBe(2);
  receiver.state.answer = 'accept';
  await pass(1_800_000);
  const accepted = receiver.received.filter(({ answer }) => answer === 'accept');
  expect(accepted).toHaveLength(2);
  expect(new Set(accepted.map(({ percent }) => percent))).toEqual(new Set([50, 80]));
  expect(accepted.every(({ id }) => before.has(id))).toBe(true);
  expect(await alerts()).toMatchObject([{ delivery: 'delivered' }, { delivery: 'delivered' }]);
  expect([inAll('delivered'), inAll('dropped'), ...counted('waiting')]).toEqual([2, 0, 0, 0]);
});

it('a receiver that answers 500 gets the same message again, with growing pauses', { timeout: 120_000 }, async () => {
  const { receiver, services, pass, spend } = await openServices(1);
  receiver.state.answer = 'refuse';
  await spend(50n);
  await pass(300_000);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  expect(receiver.received.length).toBeGreaterThanOrEqual(5);
  expect(receiver.received.length).toBeLessThanOrEqual(7);
  expect(new Set(services[0]?.problems)).toEqual(new Set(['the receiver answered 500']));
});

it('a receiver that asks for time with Retry-After gets nothing before it is over', { timeout: 120_000 }, async () => {
  const { receiver, pass, spend } = await openServices(2);
  receiver.state.answer = 'throttle';
  await spend(50n);
  await spend(30n);
  await pass(30_000);
  expect(receiver.received).toHaveLength(1);
  receiver.state.answer = 'accept';
  await pass(550_000);
  expect(receiver.received).toHaveLength(1);
  await pass(60_000);
  expect(receiver.received.map(({ answer }) => answer)).toEqual(['throttle', 'accept', 'accept']);
});

it.each([
  ['0', 0],
  ['120', 120_000],
  ['999999999', 999_999_999_000],
  ['Wed, 01 Jul 2026 00:02:00 GMT', 120_000],
  ['Wednesday, 01-Jul-26 00:02:00 GMT', 120_000],
  ['Wed Jul  1 00:02:00 2026', 120_000],
  ['Tue, 30 Jun 2026 23:00:00 GMT', 0],
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['soon GMT', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['2026-07-01', undefined],
])('the wait in a Retry-After of %j is %s ms', (value, ms) => {
  expect(retryAfterMs(value, sampleNow)).toBe(ms);
});

it(
  'a slow receiver is left after the time limit, and thresholds are recorded meanwhile',
  { timeout: 120_000 },
  async () => {
    const { receiver, services, pass, spend, alerts } = await openServices(1);
    receiver.state.answer = 'hold';
    await spend(50n);
    await pass(15_000);
    expect(receiver.state.held.size).toBe(1);
    await spend(30n);
    await pass(10_000);
    expect(await alerts()).toMatchObject([{ percent: 80 }, { percent: 50 }]);
    await pass(20_000);
    expect(services[0]?.problems[0]).toBe('no answer within 15 s');
    receiver.state.answer = 'accept';
    await pass(120_000);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(2);
    expect((await alerts()).map(({ delivery }) => delivery)).toEqual(['delivered', 'delivered']);
  },
);

it('a message whose sender dies is sent again with its id, by another service', { timeout: 120_000 }, async () => {
  const { receiver, services, pass, spend, clock, alerts } = await openServices(1);
  await spend(50n);
  const dead = services[0]?.thread.store;
  await dead?.keepSubscriptions(subscriptions, clock.now());
  await dead?.recordReached(clock.now());
  const claim = { subscription: 'alerts', holder: 'dead', leaseMs: 60_000 } as const;
  const claimed = await dead?.nextMessages(claim, clock.now());
  await pass(55_000);
  expect(receiver.received).toEqual([]);
  await pass(10_000);
  expect(receiver.received.map(({ id }) => id)).toEqual(claimed?.map(({ id }) => id));
  await pass(120_000);
  expect(receiver.received).toHaveLength(1);
  expect(await alerts()).toMatchObject([{ delivery: 'delivered' }]);
});

it('the published library accepts a message, and refuses a replay after its time and another body', async () => {
  const clock = { now: () => Date.now(), after: createFakeClock().after };
  const headers: Record<string, string> = {};
  let body = '';
  const server = createServer((request, response) => {
    void (async () => {
      for await (const chunk of request) body += String(chunk);
      for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
      response.writeHead(200).end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const old = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  const readSecrets = async (): Promise<string> => `${old}\n${secret}\n`;
  const sender = createWebhookSender({ url: `http://127.0.0.1:${port}`, readSecrets, clock });
  onTestFinished(async () => {
    await sender.close();
    server.close();
  });
  expect(await sender.send({ id: 'alert_1', body: '{"type":"x"}' })).toBeUndefined();
  for (const known of [old, secret]) expect(new Webhook(known).verify(body, headers)).toEqual({ type: 'x' });
  expect(() => new Webhook(secret).verify(body.replace('x', 'y'), headers)).toThrow('No matching signature');
  const late = { ...headers, 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 600) };
  expect(() => new Webhook(secret).verify(body, late)).toThrow('too old');
});

it.each([
  [404, 'no-such-path'],
  [401, 'credential-refused'],
  [302, 'redirects'],
  [500, 'server-error'],
  ['cut', 'breaks-off'],
  ['closed', 'connection-refused'],
  ['no secret', 'credential-missing'],
] as const)('a receiver that answers %s fails by a cause, until it accepts a message', async (how, cause) => {
  const clock = { now: () => Date.now(), after: createFakeClock().after };
  const answer = { status: typeof how === 'number' ? how : 204, isCut: how === 'cut' };
  const server = createServer((request, response) => {
    request.resume();
    if (answer.isCut) {
      response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
      return;
    }
    response.writeHead(answer.status, { location: 'http://127.0.0.1:1/' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const watch = watchDependencies();
  const secrets = { text: how === 'no secret' ? '' : secret };
  const sender = createWebhookSender({
    ...{ url: `http://127.0.0.1:${port}`, readSecrets: async () => secrets.text, clock },
    report: watch.of('webhook'),
  });
  onTestFinished(async () => {
    await sender.close();
    server.close();
  });
  const send = () => sender.send({ id: 'alert_1', body: '{}' });
  if (how === 'closed') await new Promise((resolve) => server.close(resolve));
  const refusal = await send();
  expect(watch.failing()).toEqual([{ dependency: 'webhook', cause, reason: refusal?.problem }]);
  if (how === 'closed') await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  Object.assign(answer, { status: 204, isCut: false });
  secrets.text = secret;
  expect(await send()).toBeUndefined();
  expect(watch.failing()).toEqual([]);
});
