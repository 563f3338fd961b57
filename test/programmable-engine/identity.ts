import type { Behaviour } from './behaviour.ts';

/** What gives the engine away in every answer unless `identify` is false. A gateway must let none of it through. */
export interface EngineIdentity {
  readonly headers: Readonly<Record<string, string>>;
  readonly fingerprint: string;
  readonly idPrefix: string;
  readonly ownedBy: string;
  /** Every text by which a leak can be recognised; upstream model names are not among them, the test knows those. */
  readonly marks: readonly string[];
}

/** The identity of the engine of that name. */
export function identityOf(name: string): EngineIdentity {
  const server = `demo-engine-${name}/1.0 uvicorn`;
  const fingerprint = `fp_demoengine_${name}`;
  const idPrefix = `chatcmpl-demoengine-${name}-`;
  const ownedBy = `demo-engine-${name}-owner`;
  return {
    headers: { server, 'x-demo-engine': name, 'openai-organization': ownedBy, 'x-request-id': `${idPrefix}request` },
    fingerprint,
    idPrefix,
    ownedBy,
    marks: ['demo-engine', 'demoengine', 'uvicorn', 'EngineCore'],
  };
}

/** Fields of vLLM and others that no client of a gateway should see. */
export function engineFields(identity: EngineIdentity, behaviour: Behaviour): Readonly<Record<string, unknown>> {
  if (behaviour.identify === false) return {};
  return { system_fingerprint: identity.fingerprint, prompt_logprobs: null, kv_transfer_params: null };
}

/** The headers that identify the engine, or none. */
export function engineHeaders(identity: EngineIdentity, behaviour: Behaviour): Readonly<Record<string, string>> {
  return behaviour.identify === false ? {} : identity.headers;
}
