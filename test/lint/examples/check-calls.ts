import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnySchemaObject } from 'ajv';
import { messageOf } from '../../../src/core/failure.ts';
import { isObject } from '../../../src/core/json.ts';
import { answerPaths, furtherPaths } from '../../../src/core/api-paths.ts';
import { surfaces } from '../../../src/core/dialect.ts';
import { dialects } from '../../../src/gateway/dialects/dialects.ts';

/** What is wrong with calls of the gateway and of the admin API, a sentence each. */
export interface CallChecks {
  /** The arguments of curl. */
  readonly curl: (args: readonly string[]) => readonly string[];
  /** The body of a request for a model. */
  readonly request: (text: string) => readonly string[];
}

interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: readonly { readonly in: string; readonly name: string }[];
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: AnySchemaObject }>> };
          }
        >
      >
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, AnySchemaObject>> };
}

export interface CallOptions {
  /** The OpenAPI document of the admin API. */
  readonly adminApi: ApiDocument;
  /** The models that examples may name. */
  readonly models: ReadonlySet<string>;
}

const surfaceAt = new Map(surfaces.map((surface) => [answerPaths[surface], surface]));

export function createCallChecks({ adminApi, models }: CallOptions): CallChecks {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });

  function readAs(surface: keyof typeof dialects, text: string): readonly string[] {
    try {
      const { modelName } = dialects[surface].readRequest(JSON.parse(text));
      return models.has(modelName) ? [] : [`no example has a manifest of the model ${modelName}`];
    } catch (error) {
      return [messageOf(error)];
    }
  }

  function adminCall(method: string, url: URL, body: string | undefined): readonly string[] {
    const template = Object.keys(adminApi.paths).find((path) =>
      new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(url.pathname),
    );
    const operation = adminApi.paths[template ?? '']?.[method];
    if (operation === undefined) return [`the admin API has no ${method} ${url.pathname}`];
    const known = (operation.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name] : []));
    const unknown = [...url.searchParams.keys()].filter((name) => !known.includes(name));
    const schema = operation.requestBody?.content['application/json']?.schema;
    const isGood =
      body === undefined || ajv.validate({ ...schema, components: adminApi.components }, JSON.parse(body) as unknown);
    return [
      ...unknown.map((name) => `${method} ${url.pathname} has no parameter ${name}`),
      ...(isGood ? [] : [`${method} ${url.pathname}: ${ajv.errorsText()}`]),
    ];
  }

  return {
    curl: (args) => {
      const address = args.find((word) => /^https?:\/\/|^\$OPENAI_BASE_URL/.test(word)) ?? '';
      const url = URL.parse(address.replace('$OPENAI_BASE_URL', 'http://127.0.0.1:8080/v1'));
      if (url === null) return [`no address is called: ${args.join(' ')}`];
      const at = args.findIndex((word) => word === '-d' || word === '--data');
      const body = at === -1 ? undefined : args[at + 1];
      const surface = surfaceAt.get(url.pathname);
      if (url.pathname.startsWith('/api/')) return adminCall(body === undefined ? 'get' : 'post', url, body);
      if (surface !== undefined) return body === undefined ? ['there is no body'] : readAs(surface, body);
      return ['/v1/models', furtherPaths.key, '/healthz'].includes(url.pathname)
        ? []
        : [`the gateway has no ${url.pathname}`];
    },
    request: (text) => {
      const value = JSON.parse(text) as unknown;
      const has = (field: string): boolean => isObject(value) && field in value;
      if (has('input')) return readAs('embeddings', text);
      if (has('documents')) return readAs('rerank', text);
      return readAs(has('max_tokens') ? 'messages' : 'chat', text);
    },
  };
}
