import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Clock } from '../../core/clock.ts';
import {
  causeOfStatus,
  type DependencyCause,
  dependencyFailure,
  type DependencyReport,
} from '../../core/dependency-cause.ts';

/** Signs as Standard Webhooks says (https://www.standardwebhooks.com). */
export interface WebhookTarget {
  readonly url: string;
  /** Reads the text of the secret's file, at each delivery, so that a new secret applies at once. */
  readonly readSecrets: () => Promise<string>;
  /** Default: `application/json`. */
  readonly contentType?: string | undefined;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly report?: DependencyReport | undefined;
}

export interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

/** Why a receiver did not accept a message, and how long it asked to be left alone. */
export interface WebhookRefusal {
  readonly problem: string;
  readonly retryAfterMs?: number | undefined;
}

/** A receiver is expected to answer before it works. */
const webhookTimeoutMs = 15_000;

/** The rest of an answer is not read. */
const maxAnswerBytes = 16_384;

const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/**
 * The secrets of a file, one a line: each signs, so that a receiver may know the old one or the new one. Throws if there
 * is none, or one is not `whsec_` and 24 to 64 bytes in base64.
 */
export function readWebhookSecrets(text: string): readonly Buffer[] {
  const lines = text.split('\n').map((line) => line.trim());
  const secrets = lines.filter(Boolean).map((line) => Buffer.from(secretForm.exec(line)?.[1] ?? '', 'base64'));
  if (secrets.length === 0 || secrets.some(({ length }) => length < 24 || length > 64)) {
    throw new Error('expected lines with whsec_ and 24 to 64 bytes in base64');
  }
  return secrets;
}

const dateForms = [/ GMT$/, /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/] as const;

/** The wait in a `Retry-After`: seconds, or a date in one of the three forms of HTTP (RFC 9110 §10.2.3). Undefined: there is none. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const [withZone, withoutZone] = dateForms;
  const isDate = withZone.test(value) || withoutZone.test(value);
  const at = isDate ? Date.parse(withZone.test(value) ? value : `${value} GMT`) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Sends a webhook once. Resolves with the problem if the receiver did not accept it; never rejects. */
export function createWebhookSender({ url, readSecrets, contentType, clock, report }: WebhookTarget) {
  const dispatcher = new Agent({ connect: { timeout: webhookTimeoutMs } });

  function failed(error: unknown, cause?: DependencyCause): WebhookRefusal {
    const failure = dependencyFailure(error, cause);
    report?.failed(failure);
    return { problem: failure.reason };
  }

  async function secretsNow(): Promise<readonly Buffer[] | WebhookRefusal> {
    try {
      return readWebhookSecrets(await readSecrets());
    } catch (error) {
      return failed(error, 'credential-missing');
    }
  }

  async function send({ id, body }: WebhookMessage): Promise<WebhookRefusal | undefined> {
    const secrets = await secretsNow();
    if ('problem' in secrets) return secrets;
    const late = new AbortController();
    const cancel = clock.after(webhookTimeoutMs, () => late.abort());
    try {
      const timestamp = `${Math.floor(clock.now() / 1000)}`;
      const signatures = secrets.map(
        (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
      );
      // A redirect is not followed: it could lead the message to another receiver.
      const answer = await request(url, {
        dispatcher,
        method: 'POST',
        headers: {
          'content-type': contentType ?? 'application/json',
          'user-agent': 'weir',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signatures.join(' '),
        },
        body,
        signal: late.signal,
      });
      // `dump` would hide an answer that breaks off, behind which a receiver may have died before it kept anything.
      let bytes = 0;
      for await (const chunk of answer.body) {
        bytes += Buffer.from(chunk).length;
        if (bytes > maxAnswerBytes) break;
      }
      const { statusCode: status } = answer;
      const cause = causeOfStatus(status);
      if (cause !== undefined) {
        const [wait] = [answer.headers['retry-after'] ?? []].flat();
        return { ...failed(`the receiver answered ${status}`, cause), retryAfterMs: retryAfterMs(wait, clock.now()) };
      }
      report?.succeeded();
      return undefined;
    } catch (error) {
      return late.signal.aborted ? failed(`no answer within ${webhookTimeoutMs / 1000} s`, 'silent') : failed(error);
    } finally {
      cancel();
    }
  }

  return { send, close: () => dispatcher.destroy() };
}
