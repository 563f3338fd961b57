import type { ModelKind } from '../../core/catalog.ts';
import { askForModels } from './listed-models.ts';
import type { CatalogPlace } from './catalog-place.ts';
import type { ServeCommand } from './found-engines.ts';
import { pause, systemClock } from '../../process/clock.ts';
import { messageOf } from '../../core/failure.ts';
import { refusal } from '../../books/core/operator-refusals.ts';

/** The facts that are printed when everything is up. */
interface Greeting {
  /** Base URL of the API, which ends in `/v1`. */
  readonly baseUrl: string;
  /** Address of each service's ops port. */
  readonly opsUrls: readonly string[];
  /** The address that signs the operator in to the portal; undefined without a portal. */
  readonly portal: string | undefined;
  readonly key: string | undefined;
  /** A workspace for which a key can be made; undefined: it has to be made first. */
  readonly workspace: string | undefined;
  readonly models: readonly string[];
  /** Why no engine of a model can serve it, for those where that is known. */
  readonly faults: ReadonlyMap<string, string>;
  /** A model for the example; undefined: no engine of any model answers. */
  readonly answering: string | undefined;
  readonly catalog: CatalogPlace;
  readonly logs: string;
  /** `--data DIR` for the commands that are printed; empty for the default folder. */
  readonly dataFlag: string;
  /** What that model makes. */
  readonly kind: ModelKind;
  /** Engines that could be served in place of the demo. */
  readonly others: readonly ServeCommand[];
}

const shownModels = 8;
/** Width of a terminal. Only a word that is longer by itself exceeds it. */
const columns = 80;
const labelColumns = 11;

/** The lines for the operator. The last line is `ready <base url>`, and no other line begins with that word. */
export function greetingLines(greeting: Greeting): readonly string[] {
  const { baseUrl, opsUrls, portal, key, workspace, models, faults, answering, kind } = greeting;
  const { dataFlag, catalog, others } = greeting;
  const [first] = models;
  return [
    '',
    ...labelled('base URL:', baseUrl),
    ...(key === undefined ? [] : labelled('key:', key)),
    ...modelLines(models),
    ...[...faults].slice(0, shownModels).flatMap(([id, fault]) => beside(`${' '.repeat(labelColumns)}${id}: `, fault)),
    ...(portal === undefined ? [] : labelled('portal:', portal)),
    ...opsUrls.flatMap((url) => labelled('ops:', url)),
    ...(catalog.kind === 'folder' ? labelled('manifests:', catalog.folder) : labelled('namespace:', catalog.namespace)),
    ...labelled('logs:', greeting.logs),
    '',
    ...(key === undefined
      ? [
          'Create a key with:',
          '',
          ...(workspace === undefined ? commandLines('npx weir workspace create mine --credit 10', dataFlag) : []),
          ...commandLines(`npx weir key create --workspace ${workspace ?? 'mine'}`, dataFlag),
          '',
        ]
      : []),
    ...(first === undefined
      ? []
      : [
          answering === undefined ? 'No engine answers yet. Try it once one does:' : 'Try it:',
          '',
          ...curlLines({ baseUrl, key: key ?? 'your-key', model: answering ?? first, kind }),
          '',
        ]),
    ...others.flatMap(({ name, command }) => [...beside(`Found ${name}. To serve it: `, command), '']),
    `ready ${baseUrl}`,
  ];
}

const labelled = (label: string, value: string): readonly string[] => beside(label.padEnd(labelColumns), value);

/** A value beside its label, or below it if both are too long for a line. A value is copied, so it stays whole. */
function beside(label: string, value: string): readonly string[] {
  return label.length + value.length <= columns ? [label + value] : [label.trimEnd(), `  ${value}`];
}

function modelLines(models: readonly string[]): readonly string[] {
  const all = models.slice(0, shownModels).map((id, at) => (at === models.length - 1 ? id : `${id},`));
  const more = models.length > shownModels ? ['…', `(${models.length} in all)`] : [];
  const lines: string[] = [];
  let line = 'models:'.padEnd(labelColumns - 1);
  for (const word of all.length === 0 ? ['none', 'yet'] : [...all, ...more]) {
    if (line.length + 1 + word.length > columns && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = ' '.repeat(labelColumns - 1);
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

/** A command that the shell reads as one, whose flag is on a second line if both are too long for one. */
function commandLines(command: string, flag: string): readonly string[] {
  return command.length + flag.length <= columns ? [command + flag] : [`${command} \\`, ` ${flag}`];
}

/**
 * The example, to be pasted as it stands. Ids and keys have no character that a shell or JSON would interpret. The key has
 * a line of its own, because the header would be too long with it.
 */
function curlLines(example: {
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  readonly kind: ModelKind;
}): readonly string[] {
  const { baseUrl, key, model, kind } = example;
  const isLocalTls = baseUrl.startsWith('https:') ? ' -k' : '';
  const [path, ...fields] = requestsByKind[kind];
  return [
    `KEY=${key}`,
    `curl -sN${isLocalTls} ${baseUrl}${path} \\`,
    `  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    `  -d '{"model": "${model}", ${fields.join('\n       ')}}'`,
  ].flatMap((line) => line.split('\n'));
}

/** Path of the example, and the lines of its body behind the model. */
const requestsByKind: Readonly<Record<ModelKind, readonly [path: string, ...lines: string[]]>> = {
  chat: ['/chat/completions', '"stream": true,', '"messages": [{"role": "user", "content": "Hello!"}]'],
  embedding: ['/embeddings', '"input": "Hello!"'],
  rerank: ['/rerank', '"query": "Hello!",', '"documents": ["Good morning", "The end"]'],
};

const timeoutMs = 10_000;
const pollMs = 250;

/**
 * Asks for the catalog through Envoy, as a caller does, until the gateway answers and lists a model, if models are
 * expected: a backend may first have to pass its health check. Resolves to the ids, or to none if no model was listed
 * in time. Throws a Refusal if the gateway does not answer at all.
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
      throw refusal('gateway_not_ready', { address: `${baseUrl}/models`, reason: trouble });
    }
    await pause(pollMs, options.signal);
  }
}
