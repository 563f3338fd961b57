import { askForModels } from './listed-models.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { pause, systemClock } from '../process/clock.ts';
import { messageOf } from '../core/failure.ts';
import { StartRefusal } from './refusal.ts';

/** The facts that are printed when everything is up. */
interface Greeting {
  /** Base URL of the API, which ends in `/v1`. */
  readonly baseUrl: string;
  /** Address of each service's ops port. */
  readonly opsUrls: readonly string[];
  /** The address that signs the operator in to the portal; undefined without a portal. */
  readonly portal: string | undefined;
  /** The command that replaces the services one by one; undefined if there is a single service. */
  readonly replace: string | undefined;
  readonly key: string | undefined;
  readonly models: readonly string[];
  /** A model for the example; undefined: no engine of any model answers. */
  readonly answering: string | undefined;
  readonly catalog: CatalogPlace;
  readonly logs: string;
  /** `--data DIR` for the commands that are printed; empty for the default folder. */
  readonly dataFlag: string;
}

const shownModels = 8;

/** The lines for the operator. The last line is `ready <base url>`, and no other line begins with that word. */
export function greetingLines(greeting: Greeting): readonly string[] {
  const { baseUrl, opsUrls, portal, replace, key, models, answering, dataFlag, catalog } = greeting;
  const [first] = models;
  const more = models.length > shownModels ? `, … (${models.length} in all)` : '';
  return [
    '',
    `base URL:  ${baseUrl}`,
    ...(key === undefined ? [] : [`key:       ${key}`]),
    `models:    ${first === undefined ? 'none yet' : models.slice(0, shownModels).join(', ') + more}`,
    ...(portal === undefined ? [] : [`portal:    ${portal}`]),
    ...opsUrls.map((url) => `ops:       ${url}`),
    catalog.kind === 'folder' ? `manifests: ${catalog.folder}` : `namespace: ${catalog.namespace}`,
    `logs:      ${greeting.logs}`,
    ...(replace === undefined ? [] : [`replace:   ${replace}`]),
    '',
    ...(key === undefined
      ? [
          'Make a key with:',
          '',
          `npx weir workspace create mine --credit 10${dataFlag}`,
          `npx weir key create --workspace mine${dataFlag}`,
          '',
        ]
      : []),
    ...(first === undefined
      ? []
      : [
          answering === undefined ? 'No engine answers yet. Try it once one does:' : 'Try it:',
          '',
          curlLine({ baseUrl, key: key ?? 'KEY', model: answering ?? first }),
          '',
        ]),
    `ready ${baseUrl}`,
  ];
}

/**
 * The example on one line, so that it can be pasted anywhere. Ids and keys have no character that a shell or JSON would
 * interpret.
 */
function curlLine({
  baseUrl,
  key,
  model,
}: {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
}): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], stream: true });
  const isLocalTls = baseUrl.startsWith('https:') ? ' -k' : '';
  return `curl -sN${isLocalTls} ${baseUrl}/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`;
}

const timeoutMs = 10_000;
const pollMs = 250;

/**
 * Asks for the catalog through Envoy, as a caller does, until the gateway answers and lists a model, if models are
 * expected: a backend may first have to pass its health check. Resolves to the ids, or to none if no model was listed
 * in time. Throws StartRefusal if the gateway does not answer at all.
 */
export async function listedModels(
  baseUrl: string,
  options: { readonly expectSome: boolean; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const deadline = systemClock.elapsed() + timeoutMs;
  let trouble = 'it did not answer';
  for (;;) {
    let ids: readonly string[] | undefined;
    try {
      const answer = await askForModels(baseUrl, options.signal);
      if (answer.kind === 'listed') ({ ids } = answer);
      else trouble = `it answered with status ${answer.status}`;
    } catch (error) {
      trouble = messageOf(error);
    }
    if (ids !== undefined && (ids.length > 0 || !options.expectSome)) return ids;
    if (options.signal.aborted) return [];
    if (systemClock.elapsed() > deadline) {
      if (ids !== undefined) return ids;
      throw new StartRefusal(`${baseUrl}/models: ${trouble}. The logs say more.`);
    }
    await pause(pollMs, options.signal);
  }
}
