// @suite long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller, http2Caller } from './support/caller.ts';
import { putTogether } from './support/put-together.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startWeir, type Weir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { cachedTokens: 4 } }));

const ask = (content: string, fields: object = {}) => ({
  ...{ model: 'test/model', messages: [{ role: 'user', content }] },
  ...fields,
});
const stream = { stream: true, stream_options: { include_usage: true } };
const messageOf = (answer: string): unknown =>
  (JSON.parse(answer) as { readonly choices: readonly { readonly message: unknown }[] }).choices[0]?.message;

const ways = {
  'HTTP/2 without TLS': { tls: false },
  'HTTP/2 over TLS': { tls: true },
} as const;

describe.each(Object.entries(ways))('%s', (_, { tls }) => {
  let folder: string;
  let weir: Weir;
  let caller: Caller;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'weir-tls-'));
    const files = { WEIR_TLS_CERTIFICATE_FILE: join(folder, 'tls.crt'), WEIR_TLS_KEY_FILE: join(folder, 'tls.key') };
    writeFileSync(files.WEIR_TLS_CERTIFICATE_FILE, selfSigned.certificate);
    writeFileSync(files.WEIR_TLS_KEY_FILE, selfSigned.key);
    weir = await startWeir({ engines: [engine], env: tls ? files : {} });
    caller = http2Caller(weir, tls ? { ca: selfSigned.certificate } : {});
  });
  afterAll(async () => {
    await caller.close();
    await weir.close();
    rmSync(folder, { recursive: true });
  });

  test('says what HTTP/1.1 says, in one piece and streamed', async () => {
    const over1 = async (body: object): Promise<string> => {
      if (!tls) {
        const other = http1Caller(weir);
        const answer = await other.ask(body);
        await other.close();
        return answer.text();
      }
      const headers = { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' };
      const sent = httpsRequest(`${weir.baseUrl}/chat/completions`, {
        ...{ method: 'POST', headers, ca: selfSigned.certificate, agent: false, ALPNProtocols: ['http/1.1'] },
      });
      return new Promise((resolve, reject) => {
        sent.once('error', reject).once('response', (response) => resolve(text(response)));
        sent.end(JSON.stringify(body));
      });
    };
    expect(new URL(weir.baseUrl).protocol).toBe(tls ? 'https:' : 'http:');
    const whole = await caller.ask(ask('Where?'));
    expect([whole.status, whole.headers['content-type']]).toEqual([200, 'application/json']);
    expect(messageOf(whole.text())).toEqual(messageOf(await over1(ask('Where?'))));
    const streamed = await caller.ask(ask('Where?', stream));
    expect(await streamed.ended).toBe('clean');
    expect(putTogether(streamed.text())).toEqual(putTogether(await over1(ask('Where?', stream))));
    expect(putTogether(streamed.text()).choices[0]?.message).toEqual({ ...(messageOf(whole.text()) as object) });
  });

  test('an error is in the envelope', async () => {
    const answer = await caller.ask(ask('Where?', { model: 'no/such' }));
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text())).toEqual({ error: expect.objectContaining({ code: 'model_not_found' }) });
  });

  test('200 streams at once on one connection are all whole', async () => {
    const directives = '[[demo {"words": 10, "tokenDelayMs": 50, "firstTokenDelayMs": 1500}]]';
    const open = Array.from({ length: 200 }, () => caller.open(ask(`Where? ${directives}`, stream)).answer);
    await engine.until(() => engine.openRequests() === 200);
    const answers = await Promise.all(open);
    expect(await Promise.all(answers.map(({ ended }) => ended))).toEqual(answers.map(() => 'clean'));
    const [first] = answers.map((answer) => putTogether(answer.text()));
    for (const answer of answers) expect(putTogether(answer.text()).choices).toEqual(first?.choices);
  });

  test('a stream that is reset leaves its neighbours on the connection alone', async () => {
    const long = ask('Stay. [[demo {"words": 20, "tokenDelayMs": 30}]]', stream);
    const neighbours = await Promise.all(Array.from({ length: 5 }, () => caller.open(long).answer));
    const leaving = Array.from({ length: 50 }, () =>
      caller.open(ask('Go. [[demo {"words": 5000, "tokenDelayMs": 50}]]', stream)),
    );
    for (const request of leaving) await (await request.answer).until('"reasoning"');
    for (const request of leaving) request.leave();
    await engine.until(() => engine.openRequests() <= 5);
    expect(await Promise.all(neighbours.map(({ ended }) => ended))).toEqual(neighbours.map(() => 'clean'));
    for (const answer of neighbours) expect(putTogether(answer.text()).usage).toHaveProperty('cost');
    await weir.settled();
    const rows = await weir.ledger();
    expect(rows.filter(({ outcome }) => outcome === 'cancelled').length).toBe(50);
  });

  if (!tls) return;

  test('TLS below 1.2 is refused', async () => {
    const attempt = new Promise((resolve) => {
      const socket = connect({
        port: Number(new URL(weir.origin).port),
        host: '127.0.0.1',
        ca: selfSigned.certificate,
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      socket.once('secureConnect', () => resolve(socket.destroy() && 'accepted'));
      socket.once('error', () => resolve('refused'));
    });
    expect(await attempt).toBe('refused');
  });
});
