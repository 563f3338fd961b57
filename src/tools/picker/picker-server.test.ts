import { Client, credentials, Metadata, Server, ServerCredentials, type ServiceError } from '@grpc/grpc-js';
import { HealthImplementation, service as healthService } from 'grpc-health-check';
import { afterEach, describe, expect, it } from 'vitest';
import { processMethod } from '../../../test/support/picker-codec.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import type { AnswerHead, EndpointPicker, PickAnswer, PickAsk } from './picker.ts';
import { systemClock } from '../../process/clock.ts';
import { holdConnections } from '../../../test/support/held-connections.ts';
import { portBounds, type PortBounds } from '../../core/port-bounds.ts';
import { listenPicker, type PickerServer, type PickerServerOptions } from './picker-server.ts';
import { untilHolds } from '../../../test/support/until-holds.ts';

const Process = processMethod<object>();

/** The questions to the picker, and the calls that follow each answer, in order. */
type PickerEvent = PickAsk | (Pick<AnswerHead, 'status' | 'served'> & { readonly type: string | undefined }) | string;

let server: PickerServer;
const clients: Client[] = [];
const streams: { readonly cancel: () => void }[] = [];
let events: PickerEvent[] = [];

afterEach(async () => {
  for (const stream of streams.splice(0)) stream.cancel();
  for (const client of clients.splice(0)) client.close();
  // A stream that ends late would add to the events of the next test.
  await untilHolds(() => {
    if (server.open() > 0) throw new Error('a stream is open');
  });
  await server.close(0);
});

const picked = (...endpoints: readonly string[]): PickAnswer => ({
  kind: 'picked',
  endpoints,
  answer: {
    head: ({ status, served, header }) => events.push({ status, served, type: header('content-type') }),
    body: (piece) => events.push(`body ${Buffer.from(piece).toString()}`),
    ended: (how) => events.push(`ended ${how}`),
  },
});

async function start(
  answer: PickAnswer | Promise<PickAnswer> | (() => Promise<PickAnswer>),
  options: Partial<Pick<PickerServerOptions, 'tls' | 'clientCa' | 'bounds'>> = {},
): Promise<void> {
  events = [];
  const picker: EndpointPicker = {
    pick: (ask) => {
      events.push({ ...ask, body: ask.body && Uint8Array.from(ask.body) });
      return typeof answer === 'function' ? answer() : answer;
    },
  };
  server = await listenPicker({
    ...{ host: '127.0.0.1', port: 0, healthPort: 0, picker, clock: systemClock, tls: undefined, ...options },
    atTurnEnd: setImmediate,
    onCut: () => undefined,
  });
}

function connect(port: number, security = credentials.createInsecure()): Client {
  const client = new Client(`127.0.0.1:${port}`, security, {
    'grpc.max_receive_message_length': -1,
    'grpc.ssl_target_name_override': 'localhost',
  });
  clients.push(client);
  return client;
}

interface OpenStream {
  readonly send: (...messages: readonly object[]) => void;
  /** The next answer. */
  readonly next: () => Promise<object>;
  /** Sends no more, and resolves with the status. */
  readonly end: () => Promise<number>;
  readonly leave: () => void;
}

function open(client = connect(server.port)): OpenStream {
  const stream = client.makeBidiStreamRequest(
    Process.path,
    Process.requestSerialize,
    Process.responseDeserialize,
    new Metadata(),
  );
  streams.push(stream);
  const code = new Promise<number>((resolve) => stream.on('status', (status) => resolve(status.code)));
  stream.on('error', () => undefined);
  const answers: AsyncIterator<object> = stream[Symbol.asyncIterator]();
  return {
    send: (...messages) => messages.forEach((message) => stream.write(message)),
    next: async () => {
      const { value } = (await answers.next()) as { readonly value: object };
      return value;
    },
    end: async () => {
      stream.end();
      // The status comes after the last answer was read.
      while ((await answers.next().catch(() => ({ done: true }))).done !== true);
      return code;
    },
    leave: () => stream.cancel(),
  };
}

const headers = (values: Readonly<Record<string, string>>): object => ({
  headers: Object.entries(values).map(([key, value]) => ({ key, raw_value: Buffer.from(value) })),
});
const modes = { NONE: 0, STREAMED: 1, BUFFERED: 2, FULL_DUPLEX_STREAMED: 4 };
const requestHead = (mode?: keyof typeof modes, more: object = {}, last = false): object => ({
  request_headers: { headers: headers({ ':method': 'POST', ':path': '/v1/chat/completions' }), end_of_stream: last },
  ...(mode && { protocol_config: { request_body_mode: modes[mode], response_body_mode: modes[mode] } }),
  ...more,
});
const requestBody = (text: string, last = false): object => ({
  request_body: { body: Buffer.from(text), end_of_stream: last },
});
const answerHead = {
  response_headers: { headers: headers({ ':status': '200', 'content-type': 'text/event-stream' }) },
};
const answerBody = (text: string, last = false): object => ({
  response_body: { body: Buffer.from(text), end_of_stream: last },
});
const metadata = (namespace: string, key: string, value: object): object => ({
  metadata_context: { filter_metadata: { [namespace]: { fields: { [key]: value } } } },
});
const subset = (value: object): object =>
  metadata('envoy.lb.subset_hint', 'x-gateway-destination-endpoint-subset', value);

const destination = 'x-gateway-destination-endpoint';
const header = (value: string): object => ({
  header_mutation: {
    set_headers: [{ header: { key: destination, raw_value: Buffer.from(value) }, append_action: 2 }],
  },
  clear_route_cache: true,
});
const dynamic = (value: string): object => ({
  dynamic_metadata: {
    fields: { 'envoy.lb': { struct_value: { fields: { [destination]: { string_value: value } } } } },
  },
});
const streamed = (text: string, last = false): object => ({
  response: {
    body_mutation: {
      streamed_response: { ...(text !== '' && { body: Buffer.from(text) }), end_of_stream: last },
    },
  },
});
const asked = (body: string | undefined, more: Partial<PickAsk> = {}): PickAsk => ({
  sender: 'address 127.0.0.1',
  path: '/v1/chat/completions',
  body: body === undefined ? undefined : Uint8Array.from(Buffer.from(body)),
  subset: undefined,
  ...more,
});

const [one, two] = ['10.0.0.1:8000', '10.0.0.2:8000'];

describe('a body that is handed over in pieces', () => {
  it.each(['FULL_DUPLEX_STREAMED', undefined] as const)(
    'is held until the endpoint is picked, and goes on, as the answer does (%s)',
    async (mode) => {
      await start(picked(one, two));
      const { send, next, end } = open();
      send(requestHead(mode), requestBody('{"a"'), requestBody(': 1}'), requestBody('', true));
      const value = `${one},${two}`;
      expect(await next()).toEqual({ request_headers: { response: header(value) }, ...dynamic(value) });
      expect(await next()).toEqual({ request_body: streamed('{"a": 1}', true) });
      send(answerHead, answerBody('data: 1'), answerBody('data: 2', true));
      expect(await next()).toEqual({ response_headers: {} });
      expect(await next()).toEqual({ response_body: streamed('data: 1') });
      expect(await next()).toEqual({ response_body: streamed('data: 2', true) });
      expect(await end()).toBe(0);
      expect(events).toEqual([
        asked('{"a": 1}'),
        { status: 200, served: undefined, type: 'text/event-stream' },
        ...['body data: 1', 'body data: 2', 'ended complete'],
      ]);
    },
  );

  it('may end with trailers, in both directions', async () => {
    await start(picked(one));
    const { send, next, end } = open();
    send(requestHead(), requestBody('{}'), { request_trailers: {} });
    expect(await next()).toEqual({ request_headers: { response: header(one) }, ...dynamic(one) });
    expect(await next()).toEqual({ request_body: streamed('{}') });
    expect(await next()).toEqual({ request_trailers: {} });
    send(answerHead, answerBody('x'), { response_trailers: {} });
    expect(await next()).toEqual({ response_headers: {} });
    expect(await next()).toEqual({ response_body: streamed('x') });
    expect(await next()).toEqual({ response_trailers: {} });
    await end();
    expect(events.slice(2)).toEqual(['body x', 'ended complete']);
  });

  it('of over 10 MiB goes on without being read, in pieces of at most 62,000 bytes', async () => {
    await start(picked(one));
    const { send, next, leave } = open();
    const mebibyte = 'x'.repeat(1024 * 1024);
    send(requestHead(), ...Array.from({ length: 11 }, () => requestBody(mebibyte)), requestBody('y', true));
    expect(await next()).toEqual({ request_headers: { response: header(one) }, ...dynamic(one) });
    let bytes = 0;
    let longest = 0;
    for (let isLast = false; !isLast;) {
      const answer = (await next()) as {
        readonly request_body: ReturnType<typeof streamed> & {
          readonly response: {
            readonly body_mutation: {
              readonly streamed_response: { readonly body: Buffer; readonly end_of_stream?: boolean };
            };
          };
        };
      };
      const piece = answer.request_body.response.body_mutation.streamed_response;
      bytes += piece.body.length;
      longest = Math.max(longest, piece.body.length);
      isLast = piece.end_of_stream === true;
    }
    expect([bytes, longest]).toEqual([11 * 1024 * 1024 + 1, 62_000]);
    expect(events).toEqual([asked(undefined)]);
    leave();
  });
});

it('a body that is buffered gets its endpoint with the body, and the answer goes on by itself', async () => {
  await start(picked(one));
  const { send, next, end } = open();
  send(requestHead('BUFFERED'));
  expect(await next()).toEqual({ request_headers: {} });
  send(requestBody('{}', true));
  expect(await next()).toEqual({ request_body: { response: header(one) }, ...dynamic(one) });
  send(answerHead);
  expect(await next()).toEqual({ response_headers: {} });
  send(answerBody('{}', true));
  expect(await next()).toEqual({ response_body: {} });
  expect(await end()).toBe(0);
  expect(events).toEqual([asked('{}'), expect.anything(), 'body {}', 'ended complete']);
});

it.each(['STREAMED', 'NONE'] as const)(
  'a request whose body comes too late for its head gets an endpoint without it (%s)',
  async (mode) => {
    await start(picked(one));
    const { send, next, end } = open();
    send(requestHead(mode));
    expect(await next()).toEqual({ request_headers: { response: header(one) }, ...dynamic(one) });
    if (mode === 'STREAMED') {
      send(requestBody('{}', true));
      expect(await next()).toEqual({ request_body: {} });
    }
    send(answerHead);
    expect(await next()).toEqual({ response_headers: {} });
    await end();
    // An answer whose body is not sent counts as complete with its head.
    expect(events).toEqual([asked(undefined), expect.anything(), mode === 'NONE' ? 'ended complete' : 'ended broken']);
  },
);

it('a request without a body gets an endpoint at once', async () => {
  await start(picked(one));
  const { send, next, leave } = open();
  send(requestHead(undefined, {}, true));
  expect(await next()).toEqual({ request_headers: { response: header(one) }, ...dynamic(one) });
  leave();
  await expect.poll(() => events).toEqual([asked(undefined), 'ended broken']);
});

describe('the metadata', () => {
  const text = (value: string): object => ({ string_value: value });
  it.each([
    ['a list', { list_value: { values: [text(one), text(two)] } }, [one, two]],
    ['a text with commas', text(`${one}, ${two}`), [one, two]],
    ['an empty list', { list_value: {} }, []],
    ['an empty text', text(''), []],
  ] as const)('may have the subset as %s', async (_, value, expected) => {
    await start(picked(one));
    const { send, next, leave } = open();
    send(requestHead(undefined, subset(value), true));
    await next();
    expect(events).toEqual([asked(undefined, { subset: expected })]);
    leave();
  });

  it('of another namespace is no subset', async () => {
    await start(picked(one));
    const { send, next, leave } = open();
    const elsewhere = metadata('envoy.lb', 'x-gateway-destination-endpoint-subset', text(two));
    send(requestHead(undefined, elsewhere, true));
    await next();
    expect(events).toEqual([asked(undefined)]);
    leave();
  });

  it('of the answer names the endpoint that has served it', async () => {
    await start(picked(one));
    const { send, next, leave } = open();
    send(requestHead(undefined, {}, true));
    await next();
    send({ ...answerHead, ...metadata('envoy.lb', `${destination}-served`, text(two)) });
    await next();
    expect(events[1]).toEqual({ status: 200, served: two, type: 'text/event-stream' });
    leave();
  });
});

it.each([
  [503, 'server_error'],
  [429, 'rate_limit_error'],
] as const)('a refusal is an answer with status %i', async (status, type) => {
  await start({ kind: 'refused', status, message: 'none' });
  const { send, next, end } = open();
  send(requestHead(), requestBody('{}', true));
  expect(await next()).toMatchObject({
    immediate_response: {
      status: { code: status },
      body: Buffer.from(JSON.stringify({ error: { message: 'none', type } })),
    },
  });
  expect(await end()).toBe(0);
});

it('a picker that fails ends the call with an error, so that the failure mode of the gateway decides', async () => {
  await start(() => Promise.reject(new Error('broken')));
  const { send, end } = open();
  send(requestHead(), requestBody('{}', true));
  expect(await end()).toBe(13);
});

it('a gateway that leaves while the endpoint is picked ends the request', async () => {
  const answer = Promise.withResolvers<PickAnswer>();
  await start(answer.promise);
  const { send, leave } = open();
  send(requestHead(), requestBody('{}', true));
  await expect.poll(() => events).toHaveLength(1);
  leave();
  await expect.poll(() => server.open()).toBe(0);
  answer.resolve(picked(one));
  await expect.poll(() => events[1]).toBe('ended broken');
});

it('TLS is spoken with the given certificate', async () => {
  await start(picked(one), { tls: { cert: selfSigned.certificate, key: selfSigned.key } });
  const { send, next, leave } = open(connect(server.port, credentials.createSsl(Buffer.from(selfSigned.certificate))));
  send(requestHead(undefined, {}, true));
  expect(await next()).toMatchObject({ request_headers: {} });
  leave();
});

describe('with the authorities of gateways', () => {
  const { certificate, key } = selfSigned;
  const secured = { tls: { cert: certificate, key }, clientCa: certificate };

  it('a gateway with a certificate is answered, and known by its names', async () => {
    await start(picked(one), secured);
    const [ca, own] = [Buffer.from(certificate), Buffer.from(key)];
    const { send, next, leave } = open(connect(server.port, credentials.createSsl(ca, own, ca)));
    send(requestHead(undefined, {}, true));
    expect(await next()).toMatchObject({ request_headers: {} });
    const sender = 'certificate CN=localhost DNS:localhost, IP Address:127.0.0.1';
    expect(events).toEqual([asked(undefined, { sender })]);
    leave();
  });

  it('a gateway without one is not', async () => {
    await start(picked(one), secured);
    const { send, end } = open(connect(server.port, credentials.createSsl(Buffer.from(certificate))));
    send(requestHead(undefined, {}, true));
    expect(await end()).toBe(14);
    expect(events).toEqual([]);
  });
});

describe('memory', () => {
  const mebibyte = 1024 * 1024;
  const manyBytes = (bytes: number): string => 'x'.repeat(bytes);

  it('is not taken for a message over 11 MiB, whose call ends by its length alone', async () => {
    await start(picked(one));
    const client = connect(server.port);
    const beside = open(client);
    beside.send(requestHead('BUFFERED'));
    await beside.next();
    const { send, end } = open(client);
    send(requestHead('BUFFERED'), requestBody(manyBytes(12 * mebibyte), true));
    expect(await end()).toBe(8);
    expect(events).toEqual([]);
    beside.send(requestBody('{}', true));
    expect(await beside.next()).toMatchObject({ request_body: {} });
    beside.leave();
  });
});

describe('the health service', () => {
  const { Check } = healthService;

  function check(port: number, name: string): Promise<unknown> {
    if (Check === undefined) throw new Error('there is no Check');
    const { path, requestSerialize, responseDeserialize } = Check;
    return new Promise((resolve) => {
      connect(port).makeUnaryRequest(
        ...([path, requestSerialize, responseDeserialize, { service: name }] as const),
        (error: ServiceError | null, answer: unknown) => resolve(error === null ? answer : error.code),
      );
    });
  }

  it.each(['', 'readiness', 'inference-extension', 'envoy.service.ext_proc.v3.ExternalProcessor'])(
    'reports whether requests can be answered, on both ports (%s)',
    async (name) => {
      await start(picked(one));
      for (const port of [server.port, server.healthPort]) {
        expect(await check(port, name)).toEqual({ status: 'NOT_SERVING' });
      }
      server.setReady(true);
      for (const port of [server.port, server.healthPort]) {
        expect(await check(port, name)).toEqual({ status: 'SERVING' });
      }
    },
  );

  it('reports that the process lives, and knows no other service', async () => {
    await start(picked(one));
    expect(await check(server.healthPort, 'liveness')).toEqual({ status: 'SERVING' });
    expect(await check(server.healthPort, 'another')).toBe(5);
  });

  it('answers for a service with a very long name like for any other, or refuses its length', async () => {
    await start(picked(one));
    expect(await check(server.port, 'é'.repeat(100_000))).toBe(5);
    expect(await check(server.healthPort, 'é'.repeat(5_000))).toBe(5);
    expect(await check(server.healthPort, 'é'.repeat(100_000))).toBe(8);
  });

  it('would lose the connection if the status repeated the whole name', async () => {
    await start(picked(one));
    const unbound = new Server();
    new HealthImplementation({ liveness: 'SERVING' }).addToServer(unbound);
    const port = await new Promise<number>((resolve) => {
      unbound.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound));
    });
    expect(await check(port, 'é'.repeat(100_000))).not.toBe(5);
    unbound.forceShutdown();
  });
});

describe('strangers', () => {
  const boundsOf = (bounds: Partial<PortBounds>) => ({
    streams: { ...portBounds.picker, ...bounds },
    health: { ...portBounds.pickerHealth, ...bounds },
  });
  const ports = ['port', 'healthPort'] as const;

  it.each(ports)('hold no more connections than one address may have: %s', async (port) => {
    await start(picked(), { bounds: boundsOf({ maxPerAddress: 4 }) });
    const held = await holdConnections(server[port], 6);
    await held.closed(2);
    expect(held.open()).toBe(4);
    held.release();
  });

  it.each(ports)('would hold every connection without a bound: %s', async (port) => {
    await start(picked(), { bounds: boundsOf({ maxPerAddress: Infinity, maxConnections: Infinity }) });
    const held = await holdConnections(server[port], 6);
    expect(held.open()).toBe(6);
    held.release();
  });

  it('with silent connections make room for a gateway', async () => {
    await start(picked('10.0.0.1:80'), { bounds: boundsOf({ maxConnections: 3 }) });
    const held = await holdConnections(server.port, 3);
    const stream = open();
    stream.send(requestHead('NONE', {}, true));
    await stream.next();
    await held.closed(1);
    expect(held.open()).toBe(2);
    held.release();
    await stream.end();
  });

  it.each([
    ['port', undefined],
    ['port', { cert: selfSigned.certificate, key: selfSigned.key }],
    ['healthPort', undefined],
  ] as const)('with a silent connection are cut: %s, %o', async (port, tls) => {
    await start(picked(), { tls, bounds: boundsOf({ maxHeadMs: 50 }) });
    const held = await holdConnections(server[port], 3);
    await held.closed(3);
    expect(held.open()).toBe(0);
  });
});
