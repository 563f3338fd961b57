import { request } from 'undici';
import * as z from 'zod';
import type { Clock } from '../../core/clock.ts';
import { type DependencyFailure, dependencyFailure, type DependencyReport } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { bytesOf } from './direct-agent.ts';

/** A configuration has some KB, and a set of keys some KB for each key. A longer answer is none. */
const maxAnswerBytes = 256 * 1024;
const timeoutMs = 5_000;

/** OpenID Connect Discovery 1.0, section 3. */
const configurationSchema = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
/** RFC 7517, section 5. Keys of kinds that are not known are left to the reader. */
const keysSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

export type FetchJson = (url: string, signal: AbortSignal) => Promise<unknown>;

/** Reads JSON over HTTPS. Rejects for a status other than 200: a redirect is not followed, and for a long answer. */
export const fetchJson: FetchJson = async (url, signal) => {
  const { statusCode, body } = await request(url, {
    signal,
    headers: { accept: 'application/json', 'user-agent': 'weir' },
  });
  const bytes = await bytesOf(body, maxAnswerBytes + 1);
  if (statusCode !== 200) throw Object.assign(new Error(`it answered ${statusCode}`), { status: statusCode });
  if (bytes.length > maxAnswerBytes) throw new Error(`its answer has more than ${maxAnswerBytes} bytes`);
  const answer: unknown = JSON.parse(bytes.toString());
  return answer;
};

/**
 * Asks an OpenID Connect issuer for its keys. Where they are is asked once, until that fails. `expected`: the name that its
 * configuration must have; undefined: any.
 */
export function createIssuerReader(options: {
  readonly expected: string | undefined;
  readonly configurationUrl: string;
  /** Where its keys are. Absent: where its configuration says. */
  readonly keysUrl?: string;
  readonly fetch: FetchJson;
  readonly clock: Pick<Clock, 'after'>;
  readonly report: DependencyReport;
}) {
  const { expected, configurationUrl, fetch, clock, report } = options;
  let place: { readonly issuer: string; readonly url: string } | undefined;

  async function find(signal: AbortSignal) {
    const { issuer, jwks_uri: url } = configurationSchema.parse(await fetch(configurationUrl, signal));
    if (expected !== undefined && issuer !== expected)
      throw Object.assign(new Error(`its configuration is that of ${issuer}`), {
        code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
      });
    return { issuer, url: options.keysUrl ?? url };
  }

  return async () => {
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort());
    try {
      place ??= await find(late.signal);
      const keys = keysSchema.parse(await fetch(place.url, late.signal));
      report.succeeded();
      return { issuer: place.issuer, keys };
    } catch (error) {
      place = undefined;
      report.failed(dependencyFailure(error));
      throw new Error(messageOf(error), { cause: error });
    } finally {
      cancel();
    }
  };
}

/** One report of all issuers: it fails as long as one of them does, and names it. */
export function reportIssuers(report: DependencyReport) {
  const failing = new Map<string, DependencyFailure>();

  function tell(): void {
    const [first] = failing;
    if (first === undefined) return report.succeeded();
    const [issuer, { cause, reason }] = first;
    report.failed({ cause, reason: `${issuer}: ${reason}` });
  }

  return {
    of: (issuer: string): DependencyReport => ({
      succeeded: () => {
        failing.delete(issuer);
        tell();
      },
      failed: (failure) => {
        failing.set(issuer, failure);
        tell();
      },
    }),
    /** Forgets the issuers that no identity has any more. */
    keep: (issuers: ReadonlySet<string>): void => {
      for (const issuer of failing.keys()) if (!issuers.has(issuer)) failing.delete(issuer);
      tell();
    },
  };
}
