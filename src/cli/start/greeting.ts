import type { CatalogPlace } from './launch-service.ts';

/** What is shown when everything is up. */
export interface Greeting {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly key?: string;
  readonly models: readonly string[];
  /** Where the catalog comes from: a folder, or a cluster's namespace. */
  readonly catalog: CatalogPlace;
  readonly logs: string;
  /** `--data DIR` as other commands need it; empty for the default. */
  readonly dataFlag: string;
}

const shownModels = 8;

/** The lines for the operator, the last one `ready <base url>`: nothing else begins with that word. */
export function greetingLines(greeting: Greeting): readonly string[] {
  const { baseUrl, key, models, dataFlag, catalog } = greeting;
  const [first] = models;
  const more = models.length > shownModels ? `, … (${models.length} in all)` : '';
  return [
    '',
    `base URL:  ${baseUrl}`,
    ...(key === undefined ? [] : [`key:       ${key}`]),
    `models:    ${first === undefined ? 'none yet' : models.slice(0, shownModels).join(', ') + more}`,
    `ops:       ${greeting.opsUrl}`,
    catalog.kind === 'folder' ? `manifests: ${catalog.folder}` : `namespace: ${catalog.namespace}`,
    `logs:      ${greeting.logs}`,
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
    ...(first === undefined ? [] : ['Try it:', '', curlLine({ baseUrl, key: key ?? 'KEY', model: first }), '']),
    `ready ${baseUrl}`,
  ];
}

/** One line, so that it can be pasted anywhere. Ids and keys hold nothing that a shell or JSON would read. */
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
