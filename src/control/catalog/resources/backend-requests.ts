/** The fields of a Backend that say what its requests carry, and how long its answers may be silent. */
import * as z from 'zod';
import { parameters } from '../../../core/parameters.ts';
import { reasoningEfforts } from '../../../core/request.ts';
import { shaped, withRules } from './fields.ts';
import { secretRef } from './secret.ts';

/** Headers that HTTP, Envoy or Weir itself sets. The Host header has a field of its own. */
const ownHeaders =
  /^(accept|accept-encoding|connection|content-encoding|content-length|content-type|expect|host|keep-alive|proxy-connection|te|trailer|traceparent|tracestate|transfer-encoding|upgrade|x-weir-.*)$/i;

const headerName = withRules(
  shaped(
    z.string().min(1).max(128),
    /^[A-Za-z0-9!#$%&'*+.^_|~-]+$/,
    'expected the name of a header, such as "x-api-key"',
  ),
  [
    {
      field: [],
      reason: 'Invalid',
      message: 'expected a header that neither HTTP nor Weir sets itself; for Host there is the field host',
      holds: (name) => !ownHeaders.test(name),
      cel: `!self.matches(r"(?i)${ownHeaders.source}")`,
    },
  ],
);

const credentialSchemes = ['Bearer', 'Basic', 'None'] as const;

export const credentials = z.strictObject({
  secretRef: secretRef.meta({
    description: 'Secret with the token. With scheme Basic: user:password, which Weir encodes.',
  }),
  header: headerName.optional().meta({
    description: 'Header that carries the credential. Default: Authorization.',
    example: 'api-key',
  }),
  scheme: z.enum(credentialSchemes).optional().meta({
    description:
      'The word before the token. Bearer and Basic: this word. None: no word. Default: Bearer with the header Authorization, None with any other.',
    example: 'Bearer',
  }),
});

/** Visible characters, with spaces between them. */
const headerValue = shaped(
  z.string().min(1).max(4096),
  /^[!-~]([ -~]*[!-~])?$/,
  'expected visible ASCII characters, with spaces only between them',
);

/** A value as text, or from a Secret. */
const oneValue = (value: z.ZodString, example: string) => ({
  value: value.optional().meta({ description: 'The value. For a secret use secretRef.', example }),
  secretRef: secretRef.optional().meta({ description: 'Secret with the value.' }),
});

const eitherValue = {
  field: [],
  reason: 'Invalid',
  message: 'expected exactly one of value and secretRef',
  holds: (one: { readonly value?: unknown; readonly secretRef?: unknown }) =>
    (one.value === undefined) !== (one.secretRef === undefined),
  cel: 'has(self.value) != has(self.secretRef)',
} as const;

/** Refuses a list in which two items have the same key. The API server does so for lists of the type map. */
export function eachOnce<Item>(keyOf: (item: Item) => string, what: string) {
  return (list: readonly Item[], context: z.core.$RefinementCtx): void => {
    const seen = new Set<string>();
    for (const [index, item] of list.entries()) {
      const key = keyOf(item);
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [index], message: `expected each ${what} once` });
      seen.add(key);
    }
  };
}

const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const maxNamed = 32;

export const headers = z
  .array(
    withRules(
      z.strictObject({
        name: headerName.meta({ description: 'Name of the header.', example: 'x-org' }),
        ...oneValue(headerValue, 'team-a'),
      }),
      [eitherValue],
    ),
  )
  .max(maxNamed)
  .superRefine(eachOnce(({ name }) => name, 'name'))
  .meta(byName);

export const query = z
  .array(
    withRules(
      z.strictObject({
        name: shaped(
          z.string().min(1).max(128),
          /^[A-Za-z0-9._~-]+$/,
          'expected letters, digits, ".", "_", "~" and "-"',
        ).meta({ description: 'Name of the parameter.', example: 'api-version' }),
        ...oneValue(z.string().max(1024), '2024-10-21'),
      }),
      [eitherValue],
    ),
  )
  .max(maxNamed)
  .superRefine(eachOnce(({ name }) => name, 'name'))
  .meta(byName);

const seconds = z.int().min(1).max(86_400);

export const timeouts = z.strictObject({
  firstOutputSeconds: seconds.optional().meta({
    description:
      'Maximum silence until the first output, 1 to 86400, including model loading and the prompt. The first output of a non-streamed answer is the whole answer. Default: WEIR_IDLE_SECONDS, and ten times that for a non-streamed answer and for the engine ollama.',
    example: 600,
  }),
  idleSeconds: seconds.optional().meta({
    description: 'Maximum silence after the first output, 1 to 86400. Default: WEIR_IDLE_SECONDS.',
    example: 60,
  }),
});

const maxTokens = z.int().min(1).max(100_000_000);
const usual = { description: 'Value if the caller sends none.' };
const { temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty } = parameters;

/** Names and ranges are those of chat requests. */
export const requests = z.strictObject({
  defaults: z
    .strictObject({
      temperature: temperature.schema.optional().meta({ ...usual, example: 0.6 }),
      top_p: top_p.schema.optional().meta({ ...usual, example: 0.95 }),
      top_k: top_k.schema.optional().meta({ ...usual, example: 20 }),
      min_p: min_p.schema.optional().meta({ ...usual, example: 0.05 }),
      repetition_penalty: repetition_penalty.schema.optional().meta({ ...usual, example: 1.05 }),
      frequency_penalty: frequency_penalty.schema.optional().meta({ ...usual, example: 0.2 }),
      presence_penalty: presence_penalty.schema.optional().meta({ ...usual, example: 0.2 }),
      max_tokens: maxTokens.optional().meta({
        description: 'Output cap, tokens, if the caller sends no cap. It and the prompt must fit the engine’s context.',
        example: 8192,
      }),
      reasoning_effort: z
        .enum(['none', ...reasoningEfforts])
        .optional()
        .meta({
          description: 'Reasoning if the caller’s request does not set it. Default: the deepest level.',
          example: 'low',
        }),
    })
    .optional()
    .meta({ description: 'Values for fields that a caller omits. Weir never replaces a caller’s value.' }),
  bounds: z
    .strictObject({
      temperature: temperature.schema
        .optional()
        .meta({ description: 'Maximum temperature that Weir sends.', example: 1 }),
      max_tokens: maxTokens.optional().meta({
        description: 'Maximum output cap that Weir sends, even if the caller sent no cap.',
        example: 16_384,
      }),
      reasoning_effort: z
        .enum(reasoningEfforts)
        .optional()
        .meta({ description: 'Maximum reasoning level that Weir sends.', example: 'medium' }),
    })
    .optional()
    .meta({ description: 'Upper bounds of the values that Weir sends. A lower value of the caller stays.' }),
});
