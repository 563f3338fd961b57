import { hostileBodies } from '../fuzz/hostile-bodies.ts';
import { type Attack, type AttackSurroundings, holdConnections, sendRequests } from './attack-tools.ts';

const head = (lines: readonly string[]): string =>
  [`POST /v1/chat/completions HTTP/1.1`, 'host: weir', 'content-type: application/json', ...lines].join('\r\n');

const ask = (model: string, directives: object, more: object = {}): string =>
  JSON.stringify({
    ...{ model, stream: true, ...more },
    messages: [{ role: 'user', content: `Go on. [[demo ${JSON.stringify(directives)}]]` }],
  });

const format = (schema: object): object => ({
  stream: false,
  response_format: { type: 'json_schema', json_schema: { name: 's', schema, strict: true } },
});
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
const attacks = {
  /** Uploads that announce 32 MB and send one byte, from a customer and from a stranger. */
  'stalled uploads': (around: AttackSurroundings): Attack => {
    let opened = 0;
    return holdConnections(around, 64, (socket) => {
      opened += 1;
      const key = opened % 2 === 0 ? around.target.attackerKey : 'sk-weir-nobody';
      socket.write(`${head([`authorization: Bearer ${key}`, 'content-length: 33554432'])}\r\n\r\n{`);
      return undefined;
    });
  },
  'idle connections': (around: AttackSurroundings): Attack => holdConnections(around, 150, () => undefined),
  /** A head that never ends, a byte each second. */
  'slow heads': (around: AttackSurroundings): Attack =>
    holdConnections(around, 100, (socket) => {
      socket.write(`${head([])}\r\nx-slow: `);
      const drip = setInterval(() => socket.write('x'), 1000);
      return () => clearInterval(drip);
    }),
  'hostile bodies': (around: AttackSurroundings): Attack => {
    const requests = hostileBodies.map(({ bytes, headers = {} }) => ({
      body: Buffer.from(bytes.toString('latin1').replaceAll('test/vllm', around.target.model), 'latin1'),
      headers,
    }));
    return sendRequests(
      around,
      { perSecond: 5, atOnce: 4 },
      (number) => requests[number % requests.length] ?? { body: '' },
    );
  },
  'impossible schemas': (around: AttackSurroundings): Attack =>
    sendRequests(around, { perSecond: 5, atOnce: 8 }, (number) => {
      const { schema, content } = schemas[number % schemas.length] ?? { schema: {}, content: '' };
      return { body: ask(around.target.model, { content }, format(schema)) };
    }),
  /** Prompts by which the engines that everybody shares fail. */
  'poisoned prompts': (around: AttackSurroundings): Attack =>
    sendRequests(around, { perSecond: 10, atOnce: 16 }, (number) => ({
      body: ask(around.target.model, number % 2 === 0 ? { status: 500 } : { fault: 'reset', at: 'before-headers' }),
    })),
  /** Requests that are left as soon as they may have been dispatched. */
  'instant cancels': (around: AttackSurroundings): Attack =>
    sendRequests(around, { perSecond: 20, atOnce: 40 }, (number) => ({
      body: ask(around.target.model, { words: 200, tokenDelayMs: 20 }),
      leaveAfterMs: 5 + (number % 20) * 5,
    })),
  'hostile engine': (around: AttackSurroundings): Attack =>
    sendRequests(around, { perSecond: 2, atOnce: 3 }, () => ({ body: ask(around.target.hostileModel, {}) })),
  'wrong keys': (around: AttackSurroundings): Attack =>
    sendRequests(around, { perSecond: 50, atOnce: 50 }, (number) => ({
      body: ask(around.target.model, {}),
      key: `sk-weir-wrong-${number}`,
    })),
  /** Answers of megabytes that are asked for and never read. */
  'slow readers': (around: AttackSurroundings): Attack =>
    holdConnections(around, 16, (socket) => {
      const body = ask(around.target.model, { bytes: 8_000_000 });
      const length = `content-length: ${Buffer.byteLength(body)}`;
      socket.write(`${head([`authorization: Bearer ${around.target.attackerKey}`, length])}\r\n\r\n${body}`);
      socket.once('data', () => socket.pause());
      return undefined;
    }),
} as const satisfies Readonly<Record<string, (around: AttackSurroundings) => Attack>>;

export type AttackName = keyof typeof attacks;

export const attackNames = Object.keys(attacks) as readonly AttackName[];

export const startAttack = (name: AttackName, around: AttackSurroundings): Attack => attacks[name](around);
