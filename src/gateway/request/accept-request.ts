import type { Credential, Store } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import type { Dialect, ReadOptions, Surface } from '../../core/dialect.ts';
import { correlationIdOf, type Exchange, type RequestHead } from '../../core/exchange.ts';
import { Failure } from '../../core/failure.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { BegunRequest, RequestWatch } from '../core/telemetry.ts';
import type { RequestTrace } from '../../core/trace.ts';
import type { AddressGate } from '../admission/address-gate.ts';
import type { AuthenticateOptions } from '../admission/authenticate.ts';
import type { Admitted } from '../admission/limits.ts';
import { declaredSize, maxBodyBytes, type UploadLedger } from '../admission/uploads.ts';
import { contentCodingOf, decodeBody } from './decode-body.ts';
import type { Operation } from './operation.ts';

/** The services that receive a request, from its head to its prompt. */
export interface AcceptServices extends AuthenticateOptions {
  readonly gate: AddressGate;
  readonly uploads: Pick<UploadLedger, 'open'>;
  /** Reads the bytes of a body in the format of a surface. */
  readonly prepare: (
    body: Uint8Array,
    surface: Surface,
    how: Pick<ReadOptions, 'isCount'>,
  ) => PreparedRequest | Promise<PreparedRequest>;
}

/** A request that has arrived, and that asks for an answer or for the count of its prompt. */
export interface ArrivedRequest extends BegunRequest {
  readonly kind: Extract<Operation['kind'], 'answer' | 'count-tokens'>;
  readonly exchange: Exchange;
  /** The format that the caller uses. */
  readonly dialect: Dialect;
  readonly watch: RequestWatch;
}

/** A request whose caller is known. It holds one of the caller's slots. */
export interface AdmittedRequest extends ArrivedRequest {
  /** The result of `originOf`. */
  readonly origin: string | undefined;
  readonly credential: Credential;
  /** The result of `readTags`. */
  readonly tags: string | undefined;
  readonly admitted: Admitted;
}

/** The services that give a request its id, its times and its trace. */
export interface BeginServices {
  readonly clock: Clock;
  /** Letters and digits that cannot be guessed. */
  readonly newId: () => string;
  /** The place of a request in its trace. Absent: tracing is off. */
  readonly traceOf?: ((head: RequestHead) => RequestTrace | undefined) | undefined;
}

/** Gives a request its id and its times. Only requests for an answer are traced. */
export function beginRequest(
  head: RequestHead,
  { kind, dialect }: Operation,
  { clock, newId, traceOf }: BeginServices,
): BegunRequest {
  return {
    requestId: dialect.idPrefixes.request + newId(),
    correlationId: correlationIdOf(head),
    surface: dialect.surface,
    address: head.address,
    trace: kind === 'answer' ? traceOf?.(head) : undefined,
    startedAt: clock.now(),
    begun: clock.elapsed(),
  };
}

/** Refuses a request whose bill could not be recorded. */
export function checkLedger(store: Pick<Store, 'canSettle'>): void {
  if (store.canSettle()) return;
  throw new Failure('overloaded', 'The service cannot keep its accounts right now. Retry later.', { limit: 'ledger' });
}

/** Receives the body of a request and reads it. Its memory is charged until the request is released. */
export async function readPrompt(
  { kind, exchange, dialect, origin, credential, admitted, watch }: AdmittedRequest,
  { uploads, clock, prepare }: AcceptServices,
): Promise<PreparedRequest> {
  const owner = { workspaceId: credential.workspace.id, address: origin };
  const coding = contentCodingOf(exchange.head);
  const { head } = exchange;
  const upload = uploads.open(owner, { headers: admitted.headers(), declaredBytes: declaredSize(head) });
  try {
    const asked = clock.elapsed();
    const sent = await exchange.body(maxBodyBytes, upload);
    const body = coding === undefined ? sent : await decodeBody(sent, coding, { limitBytes: maxBodyBytes, upload });
    watch.progress({ kind: 'arrived', waitedMs: clock.elapsed() - asked });
    const prepared = await prepare(body, dialect.surface, { isCount: kind === 'count-tokens' });
    if (!upload.read(prepared.shape.bodyBytes)) return prepared;
    const release = (): void => {
      prepared.release();
      upload.close();
    };
    return { ...prepared, release };
  } catch (error) {
    upload.close();
    throw error;
  }
}
