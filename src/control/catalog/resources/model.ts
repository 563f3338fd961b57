import * as z from 'zod';
import { capabilities } from './capabilities.ts';
import { immutable, instant, resource, objectName, shaped, text, withRules } from './fields.ts';
import { cacheSharings, modalities, reasoningModes } from '../../../core/catalog.ts';
import { reasoningEfforts } from '../../../core/request.ts';

const modelId = shaped(
  z.string().min(3).max(128),
  /^[a-z0-9][a-z0-9._-]*\/[a-z0-9][a-z0-9._-]*$/,
  'expected lowercase <org>/<model> of letters, digits, ".", "_" and "-", such as "qwen/qwen3-8b"',
);

/** Most aliases of a Model. */
const maxAliases = 16;

/** Other names of a model: names that callers used before, or the engine's name for it. */
export const modelAliases = withRules(
  z
    .array(
      shaped(
        z.string().min(1).max(128),
        /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*(:[a-z0-9][a-z0-9._-]*)?$/,
        'expected a lowercase name of letters, digits, ".", "_" and "-", with "/" between its parts and perhaps a tag behind ":", such as "gpt-4o" or "old-org/old-name"',
      ),
    )
    .max(maxAliases),
  [
    {
      field: [],
      reason: 'Invalid',
      message: 'expected each alias once',
      holds: (list) => new Set(list).size === list.length,
      cel: 'self.all(alias, self.exists_one(other, other == alias))',
    },
    {
      field: [],
      reason: 'Invalid',
      message: 'expected no alias that ends in :nitro, :floor, :free or :online, which requests use for variants',
      holds: (list) => !list.some((alias) => /:(nitro|floor|free|online)$/.test(alias)),
      cel: 'self.all(alias, !alias.matches(r":(nitro|floor|free|online)$"))',
    },
  ],
);

/** Below ten dollars a token, so that the cost of an answer fits a 64-bit column. */
const price = shaped(
  z.string({ error: 'expected a decimal in quotes, USD per token, such as "0.00000015"' }).max(32),
  /^[0-9](\.[0-9]{1,12})?$/,
  'expected USD per token below 10 with at most 12 decimals and no sign, such as "0.00000015"',
);

/** Kinds of models, as manifests name them. */
const kinds = ['Chat', 'Embedding', 'Rerank'] as const;

const dimension = z.int().min(1).max(65_536);

/** Most shorter lengths of a model's vectors. */
const maxShorterDimensions = 32;

const similarityExpected = 'expected a decimal in quotes from "0" to "1", such as "0.999"';

const embedding = withRules(
  z.strictObject({
    dimensions: dimension.meta({ description: 'Length of a vector, 1 to 65536.', example: 1024 }),
    shorterDimensions: z
      .array(dimension)
      .max(maxShorterDimensions)
      .default([])
      .meta({
        description:
          'Shorter lengths that callers may request, at most 32, for models that were trained for it. Default: none.',
        example: [256, 512],
      }),
    maxInputs: z.int().min(1).max(2048).optional().meta({
      description:
        'Maximum number of inputs of one call to an engine, 1 to 2048. Weir splits larger requests. Default: the engine’s usual limit.',
      example: 32,
    }),
    minSimilarity: shaped(
      z.string({ error: similarityExpected }).max(12),
      /^(0(\.[0-9]+)?|1(\.0+)?)$/,
      similarityExpected,
    )
      .default('0.999')
      .meta({
        description:
          'Minimum cosine between a route’s vectors and the model’s reference, "0" to "1"; a route below it does not serve. Quantised twins may need "0.99". Default "0.999".',
        example: '0.999',
      }),
    tokenIds: z.boolean().default(false).meta({
      description:
        'Whether callers may send token ids instead of texts. They must be ids of this model’s own vocabulary. Default false.',
      example: false,
    }),
  }),
  [
    {
      field: ['shorterDimensions'],
      reason: 'Invalid',
      message: 'expected lengths below dimensions',
      holds: ({ dimensions, shorterDimensions }) => shorterDimensions.every((length) => length < dimensions),
      cel: '!has(self.shorterDimensions) || self.shorterDimensions.all(length, length < self.dimensions)',
    },
  ],
);

const rerank = z.strictObject({
  maxDocuments: z.int().min(1).max(2048).optional().meta({
    description:
      'Maximum number of documents of one call to an engine, 1 to 2048. Weir splits larger requests. Default: the engine’s usual limit.',
    example: 32,
  }),
});

const pricing = z.strictObject({
  prompt: price.meta({ description: 'USD per prompt token, a decimal in quotes.', example: '0.00000015' }),
  completion: price.optional().meta({
    description: 'USD per output token, including reasoning. Required for kind Chat. Default: 0, for other kinds.',
    example: '0.0000006',
  }),
  inputCacheRead: price
    .optional()
    .meta({ description: 'USD per cached prompt token. Default: the prompt price.', example: '0.00000003' }),
});

const reasoningFields = z.strictObject({
  mode: z.enum(reasoningModes).default('None').meta({
    description: 'Whether the model reasons, and whether requests can turn reasoning off. Default None.',
    example: 'Optional',
  }),
  efforts: z
    .array(z.enum(reasoningEfforts))
    .max(4)
    .default([])
    .meta({
      description: 'Reasoning levels of the model. Default: none; reasoning can only be on or off.',
      example: ['low', 'high'],
    }),
});

const reasoning = withRules(reasoningFields, [
  {
    field: ['efforts'],
    reason: 'Invalid',
    message: 'expected none with reasoning.mode None',
    holds: ({ mode, efforts }) => mode !== 'None' || efforts.length === 0,
    cel: "self.mode != 'None' || size(self.efforts) == 0",
  },
]);

const shareExpected = 'expected a decimal in quotes from "0" to "1", such as "0.99"';

const serviceLevel = z.strictObject({
  minAvailability: shaped(z.string({ error: shareExpected }).max(12), /^(0(\.[0-9]+)?|1(\.0+)?)$/, shareExpected).meta({
    description: 'Minimum share of successful requests for listing the model, "0" to "1".',
    example: '0.99',
  }),
  windowSeconds: z
    .int()
    .min(10)
    .max(86_400)
    .default(900)
    .meta({ description: 'Measurement window in seconds, 10 to 86400. Default 900.', example: 900 }),
  firstTokenSeconds: z.int().min(1).max(3600).optional().meta({
    description:
      'Seconds until the first token, 1 to 3600. When a request would wait longer at every endpoint, Weir refuses a share of requests with 503: 0 at this time, 100 % at one and a half times of it. Default: Weir refuses no request for its wait.',
    example: 10,
  }),
});

const route = z.strictObject({
  backend: objectName.meta({ description: 'Name of the Backend.', example: 'vllm-a' }),
  upstreamModel: text(256).meta({
    description: 'Name of the model at the engine. Callers never see it.',
    example: 'Qwen/Qwen3-8B',
  }),
  weight: z.int().min(0).max(1_000_000).default(100).meta({
    description:
      'Share of the requests relative to the other routes, 0 to 1000000. 0: a standby, used only if no other route is usable. Default 100.',
    example: 100,
  }),
  capabilities: capabilities.prefault({}).meta({ description: 'Overrides of the engine’s table. Default: none.' }),
});
export type RouteSpec = z.output<typeof route>;

const inputModalities = withRules(z.array(z.enum(modalities)).min(1).max(2), [
  {
    field: [],
    reason: 'Invalid',
    message: 'expected [text] or [text, image]',
    holds: (list) => list.filter((modality) => modality === 'text').length === 1,
    cel: "self.exists_one(modality, modality == 'text')",
  },
]);

/** Most routes of a Model. */
export const maxRoutes = 64;

/** A list that the API server merges by backend: two field managers may each own routes of their own. */
const routes = z
  .array(route)
  .min(1)
  .max(maxRoutes)
  .superRefine((list, context) => {
    // Backends are compared only in a list whose routes are all valid: a route with a fault is left out first.
    if (context.issues.length > 0) return;
    const seen = new Set<string>();
    for (const [index, { backend }] of list.entries()) {
      const message = `expected each backend once, "${backend}" has an earlier route`;
      if (seen.has(backend)) context.addIssue({ code: 'custom', path: [index, 'backend'], message });
      seen.add(backend);
    }
  })
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['backend'] });

const modelFields = z.strictObject({
  id: immutable(modelId, 'cannot change; make a new Model with the new id').meta({
    description: 'The id that callers pass as model: lowercase <org>/<model>. It cannot change.',
    example: 'qwen/qwen3-8b',
  }),
  aliases: modelAliases.default([]).meta({
    description:
      'Other names that requests may use for the model, at most 16, lowercase. Weir ignores an alias that is another Model’s id, or an older Model’s alias. It does not list aliases; answers and bills contain the id. Default: none.',
    example: ['gpt-4o', 'old-org/old-name'],
  }),
  kind: z.enum(kinds).default('Chat').meta({
    description: 'The model’s output: answers, vectors of texts, or an order of documents. Default Chat.',
    example: 'Chat',
  }),
  embedding: embedding.optional().meta({ description: 'Facts about the vectors. Required for kind Embedding.' }),
  rerank: rerank.optional().meta({ description: 'Facts about reranking. Only for kind Rerank. Default: none.' }),
  ownedBy: text(128).meta({ description: 'Owner shown in the catalog.', example: 'qwen' }),
  added: instant.meta({ description: 'When the model joined the catalog.', example: '2026-06-01T00:00:00Z' }),
  contextLength: z.int().min(1).max(100_000_000).meta({
    description:
      'Context window in tokens, prompt and output together; of one input for kind Embedding, of the query and one document for kind Rerank. 1 to 100000000.',
    example: 131_072,
  }),
  inputModalities: inputModalities.default(['text']).meta({
    description: 'Allowed parts of a prompt: [text] or [text, image]. Default [text].',
    example: ['text'],
  }),
  pricing: pricing.meta({ description: 'Price of a token, for bills and in the published list.' }),
  reasoning: reasoning.prefault({}).meta({ description: 'Reasoning of the model. Default: none.' }),
  tokenizer: z
    .strictObject({
      path: shaped(
        z.string().min(1).max(256),
        /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/,
        'expected a relative folder without ".." or hidden parts, such as "qwen3-8b"',
      ).meta({ description: 'Folder under the tokenizer root.', example: 'qwen3-8b' }),
      tokensPerImage: z.int().min(0).max(1_000_000).optional().meta({
        description: 'Tokens of an image part, for models with image input. Default: Weir does not count images.',
        example: 256,
      }),
    })
    .optional()
    .meta({
      description: 'Tokenizer and chat template, to count prompts exactly. Default: the engine decides what fits.',
    }),
  serviceLevel: serviceLevel.optional().meta({
    description:
      'Conditions for listing the model and for refusing its requests. Default: Weir lists it whenever it can serve it.',
  }),
  hedging: z
    .strictObject({
      mode: z
        .enum(['Disabled', 'Auto', 'Off'])
        .default('Auto')
        .meta({
          description:
            'Auto starts a second attempt after the route’s p95 time to first token. Default Auto. ' +
            '"Off" is the earlier spelling of Disabled; without quotes kubectl reads it as false.',
          example: 'Auto',
        }),
    })
    .prefault({})
    .meta({ description: 'Hedging of slow starts. Default: Auto.' }),
  cacheSharing: z.enum(cacheSharings).default('Workspace').meta({
    description:
      'Sharing of an engine’s prefix cache. Workspace: workspaces cannot infer each other’s prompts from the time to first token. All: for public prompts, or if all workspaces trust each other. vLLM and SGLang support separate caches; the condition Accepted names routes whose engines cannot. Default Workspace.',
    example: 'Workspace',
  }),
  routes: routes.meta({ description: 'The backends that serve the model, 1 to 64, each once.' }),
  retireAt: instant.optional().meta({
    description: 'Retirement date; effective no earlier than 14 days after Weir first reads it. Default: never.',
    example: '2027-01-31T00:00:00Z',
  }),
});

/** The `spec` of a Model: an entry of the catalog. docs/reference/api.md §2.1. */
export const modelSpec = withRules(modelFields, [
  {
    field: ['pricing', 'completion'],
    reason: 'Required',
    message: 'expected a price with kind Chat',
    holds: ({ kind, pricing: { completion } }) => kind !== 'Chat' || completion !== undefined,
    cel: "(has(self.kind) && self.kind != 'Chat') || has(self.pricing.completion)",
  },
  {
    field: ['embedding'],
    reason: 'Required',
    message: 'expected with kind Embedding',
    holds: ({ kind, embedding: facts }) => kind !== 'Embedding' || facts !== undefined,
    cel: "!has(self.kind) || self.kind != 'Embedding' || has(self.embedding)",
  },
  {
    field: ['embedding'],
    reason: 'Forbidden',
    message: 'expected only with kind Embedding',
    holds: ({ kind, embedding: facts }) => kind === 'Embedding' || facts === undefined,
    cel: "!has(self.embedding) || (has(self.kind) && self.kind == 'Embedding')",
  },
  {
    field: ['rerank'],
    reason: 'Forbidden',
    message: 'expected only with kind Rerank',
    holds: ({ kind, rerank: facts }) => kind === 'Rerank' || facts === undefined,
    cel: "!has(self.rerank) || (has(self.kind) && self.kind == 'Rerank')",
  },
  {
    field: ['aliases'],
    reason: 'Invalid',
    message: 'expected other names than the id',
    holds: ({ id, aliases: names }) => !names.includes(id),
    cel: '!has(self.aliases) || !(self.id in self.aliases)',
  },
  {
    field: ['tokenizer', 'tokensPerImage'],
    reason: 'Forbidden',
    message: 'expected only with inputModalities [text, image]',
    holds: ({ tokenizer, inputModalities }) =>
      tokenizer?.tokensPerImage === undefined || inputModalities.includes('image'),
    cel: "!has(self.tokenizer) || !has(self.tokenizer.tokensPerImage) || 'image' in self.inputModalities",
  },
  {
    field: ['retireAt'],
    reason: 'Invalid',
    message: 'expected a moment after added',
    holds: ({ added, retireAt }) => retireAt === undefined || Date.parse(retireAt) > Date.parse(added),
    cel: '!has(self.retireAt) || self.retireAt > self.added',
  },
]);
export type ModelSpec = z.output<typeof modelSpec>;

export const modelSchema = resource('Model', modelSpec);
export type ModelResource = z.output<typeof modelSchema>;
