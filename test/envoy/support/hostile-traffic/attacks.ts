import { type HostileBody, hostileBodies } from '../fuzz/hostile-bodies.ts';
import { hostileResponses } from '../fuzz/hostile-responses.ts';
import type { Attack } from '../hostile/attackers.ts';
import { type AttackRequest, type GatewayAttack, holdConnections, sendRequests } from './attack-tools.ts';
import { hostileAnswers } from './hostile-engine.ts';

/** How attackers ask on one surface. */
interface AttackedSurface {
  readonly path: string;
  /** A stream, unless `more` says otherwise. */
  readonly body: (model: string, directives: object, more?: object) => string;
  /** The fields that ask for an answer in one piece that satisfies a schema. */
  readonly format: (schema: object) => object;
  readonly hostile: readonly HostileBody[];
}

const prompt = (directives: object): string => `Go on. [[demo ${JSON.stringify(directives)}]]`;

const chat: AttackedSurface = {
  path: '/v1/chat/completions',
  body: (model, directives, more) =>
    JSON.stringify({ model, stream: true, ...more, messages: [{ role: 'user', content: prompt(directives) }] }),
  format: (schema) => ({
    stream: false,
    response_format: { type: 'json_schema', json_schema: { name: 's', schema, strict: true } },
  }),
  hostile: hostileBodies,
};
const responses: AttackedSurface = {
  path: '/v1/responses',
  body: (model, directives, more) => JSON.stringify({ model, stream: true, ...more, input: prompt(directives) }),
  format: (schema) => ({ stream: false, text: { format: { type: 'json_schema', name: 's', schema, strict: true } } }),
  hostile: hostileResponses,
};

/** The surface of an attempt: by turns, so many attempts on each. */
const surfaceOf = (number: number, attempts = 1): AttackedSurface =>
  Math.floor(number / attempts) % 2 === 0 ? chat : responses;

const head = (path: string, lines: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: weir', 'content-type: application/json', ...lines].join('\r\n');

const allOf = (depth: number): object =>
  depth === 0 ? { type: 'string' } : { allOf: [allOf(depth - 1), allOf(depth - 1)] };
/** Schemas that take long to compile, long to check against, or that nothing satisfies; with what the engine says. */
const schemas: readonly { readonly schema: object; readonly content: string }[] = [
  { schema: { type: 'string', pattern: '^(a+)+$' }, content: JSON.stringify(`${'a'.repeat(40)}!`) },
  { schema: { type: 'string', pattern: '^(a|a)*$' }, content: JSON.stringify(`${'a'.repeat(40)}!`) },
  { schema: { type: 'string', pattern: '^(.*a){24}$' }, content: JSON.stringify(`${'a'.repeat(60)}!`) },
  { schema: allOf(14), content: '"x"' },
  { schema: { not: {} }, content: '{}' },
  { schema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, content: '{}' },
  {
    schema: { type: 'array', uniqueItems: true },
    content: JSON.stringify(Array.from({ length: 4_000 }, (_, index) => ({ index }))),
  },
  { schema: { anyOf: Array.from({ length: 3_000 }, (_, index) => ({ const: index })) }, content: '"none"' },
];

/** One attacker of each kind. Rates and numbers are what one person with one machine does; two cores must carry them all. */
export const attacks = {
  /** Uploads that announce 32 MB and send one byte, from a customer and from a stranger. */
  'stalled uploads': (around: GatewayAttack): Attack =>
    holdConnections(around, 64, (socket, opened) => {
      const { path } = surfaceOf(opened, 2);
      const key = opened % 2 === 0 ? 'sk-weir-nobody' : around.target.attackerKey;
      socket.write(`${head(path, [`authorization: Bearer ${key}`, 'content-length: 33554432'])}\r\n\r\n{`);
      return undefined;
    }),
  'idle connections': (around: GatewayAttack): Attack => holdConnections(around, 150, () => undefined),
  /** A head that never ends, a byte each second. */
  'slow heads': (around: GatewayAttack): Attack =>
    holdConnections(around, 100, (socket, opened) => {
      socket.write(`${head(surfaceOf(opened).path, [])}\r\nx-slow: `);
      const drip = setInterval(() => socket.write('x'), 1000);
      return () => clearInterval(drip);
    }),
  'hostile bodies': (around: GatewayAttack): Attack => {
    const requestsTo = ({ path, hostile }: AttackedSurface): readonly AttackRequest[] =>
      hostile.map(({ bytes, headers = {} }) => ({
        ...{ path, headers },
        body: Buffer.from(bytes.toString('latin1').replaceAll('test/vllm', around.target.model), 'latin1'),
      }));
    const [ofChat, ofResponses] = [requestsTo(chat), requestsTo(responses)];
    return sendRequests(around, { perSecond: 5, atOnce: 4 }, (number) => {
      const requests = surfaceOf(number) === chat ? ofChat : ofResponses;
      return requests[Math.floor(number / 2) % requests.length] ?? { path: chat.path, body: '' };
    });
  },
  'impossible schemas': (around: GatewayAttack): Attack =>
    sendRequests(around, { perSecond: 5, atOnce: 8 }, (number) => {
      const { schema, content } = schemas[number % schemas.length] ?? { schema: {}, content: '' };
      const { path, body, format } = surfaceOf(number, schemas.length);
      return { path, body: body(around.target.model, { content }, format(schema)) };
    }),
  /** Prompts by which the engines that everybody shares fail. */
  'poisoned prompts': (around: GatewayAttack): Attack =>
    sendRequests(around, { perSecond: 10, atOnce: 16 }, (number) => {
      const { path, body } = surfaceOf(number, 2);
      const poison = number % 2 === 0 ? { status: 500 } : { fault: 'reset', at: 'before-headers' };
      return { path, body: body(around.target.model, poison) };
    }),
  /** Requests that are left as soon as they may have been dispatched. */
  'instant cancels': (around: GatewayAttack): Attack =>
    sendRequests(around, { perSecond: 20, atOnce: 40 }, (number) => {
      const { path, body } = surfaceOf(number, 20);
      const sent = body(around.target.model, { words: 200, tokenDelayMs: 20 });
      return { path, body: sent, leaveAfterMs: 5 + (number % 20) * 5 };
    }),
  'hostile engine': (around: GatewayAttack): Attack =>
    sendRequests(around, { perSecond: 2, atOnce: 3 }, (number) => {
      const { path, body } = surfaceOf(number, hostileAnswers);
      return { path, body: body(around.target.hostileModel, {}) };
    }),
  'wrong keys': (around: GatewayAttack): Attack =>
    sendRequests(around, { perSecond: 50, atOnce: 50 }, (number) => {
      const { path, body } = surfaceOf(number);
      return { path, body: body(around.target.model, {}), key: `sk-weir-wrong-${number}` };
    }),
  /** Answers of megabytes that are asked for and never read. */
  'slow readers': (around: GatewayAttack): Attack =>
    holdConnections(around, 16, (socket, opened) => {
      const { path, body } = surfaceOf(opened);
      const sent = body(around.target.model, { bytes: 8_000_000 });
      const lines = [
        `authorization: Bearer ${around.target.attackerKey}`,
        `content-length: ${Buffer.byteLength(sent)}`,
      ];
      socket.write(`${head(path, lines)}\r\n\r\n${sent}`);
      socket.once('data', () => socket.pause());
      return undefined;
    }),
} as const satisfies Readonly<Record<string, (around: GatewayAttack) => Attack>>;

export type AttackName = keyof typeof attacks;

export const attackNames = Object.keys(attacks) as readonly AttackName[];
