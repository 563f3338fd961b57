import * as z from 'zod';
import {
  continuationMarks,
  features,
  scoreScales,
  structuredFormats,
  systemMessagePlaces,
  tagSetNames,
  toolChoiceForms,
} from '../../../core/capability.ts';
import { parameterNames } from '../../../core/parameters.ts';
import { reasoningEfforts } from '../../../core/request.ts';
import { shaped, withRules } from './fields.ts';

const tag = shaped(
  z.string().min(1).max(64),
  /^[^ \t\r\n]([^\r\n]*[^ \t\r\n])?$/,
  'expected a text on one line that neither begins nor ends with a space, such as "<my-thoughts>"',
);

const inlineReasoning = withRules(
  z.strictObject({
    tags: z
      .array(z.enum(tagSetNames))
      .max(tagSetNames.length)
      .default([])
      .meta({
        description: 'Known sets of tags to detect; without sets and pairs, the table’s entry is off. Default: none.',
        example: ['think'],
      }),
    pairs: z
      .array(
        z.strictObject({
          open: tag.meta({ description: 'Tag that opens the reasoning.', example: '<my-thoughts>' }),
          close: tag.meta({ description: 'Tag that ends the reasoning.', example: '</my-thoughts>' }),
        }),
      )
      .max(8)
      .optional()
      .meta({ description: 'Further tags. No tag may be the beginning of another tag. Default: none.' }),
    implicitOpen: z.boolean().default(false).meta({
      description: 'The prompt itself opens the reasoning, so the answer contains only the closing tag. Default false.',
      example: true,
    }),
  }),
  [
    {
      field: ['implicitOpen'],
      reason: 'Invalid',
      message: 'expected only with tags or pairs',
      holds: ({ tags, pairs = [], implicitOpen }) => !implicitOpen || tags.length + pairs.length > 0,
      cel: '!has(self.implicitOpen) || !self.implicitOpen || (has(self.tags) && size(self.tags) > 0) || (has(self.pairs) && size(self.pairs) > 0)',
    },
    {
      field: ['pairs'],
      reason: 'Invalid',
      message: 'expected no opening tag that is the beginning of another one',
      holds: ({ pairs = [] }) =>
        pairs.every(({ open }, at) => pairs.every((other, index) => index === at || !other.open.startsWith(open))),
      cel: '!has(self.pairs) || self.pairs.all(one, self.pairs.filter(other, other.open.startsWith(one.open)).size() == 1)',
    },
  ],
);

const capabilityFields = z.strictObject({
  tools: z
    .boolean()
    .optional()
    .meta({ description: 'Tool calling works here. Default: the engine’s table.', example: false }),
  responseFormats: z
    .array(z.enum(structuredFormats))
    .max(2)
    .optional()
    .meta({ description: 'Response formats that work here. Default: the engine’s table.', example: ['json_object'] }),
  parameters: z
    .array(z.enum(parameterNames))
    .max(parameterNames.length)
    .optional()
    .meta({
      description: 'Optional parameters honoured here. Default: the engine’s table.',
      example: ['stop', 'seed'],
    }),
  toolChoice: z
    .array(z.enum(toolChoiceForms))
    .max(4)
    .optional()
    .meta({ description: 'Forms of tool_choice honoured here. Default: the engine’s table.', example: ['auto'] }),
  streamedTools: z
    .boolean()
    .optional()
    .meta({ description: 'Tool calling works on a stream here. Default: as tools.', example: false }),
  streamedResponseFormats: z
    .array(z.enum(structuredFormats))
    .max(2)
    .optional()
    .meta({
      description: 'Response formats that work on a stream here. Default: as responseFormats.',
      example: ['json_object'],
    }),
  conflicts: z
    .array(z.array(z.enum(features)).min(2).max(4))
    .max(16)
    .optional()
    .meta({
      description: 'Features refused together here. Default: the engine’s table.',
      example: [['tools', 'response_format']],
    }),
  reasoning: z
    .strictObject({
      off: z.boolean().optional().meta({ description: 'Reasoning can be turned off here.', example: true }),
      efforts: z
        .array(z.enum(reasoningEfforts))
        .max(4)
        .optional()
        .meta({
          description: 'Levels that verifiably work here. Empty: reasoning can only be on or off.',
          example: ['low', 'high'],
        }),
      budget: z.boolean().optional().meta({ description: 'A budget in tokens is honoured here.', example: false }),
    })
    .optional()
    .meta({ description: 'Reasoning control that works here. Default: the engine’s table.' }),
  inlineReasoning: inlineReasoning
    .optional()
    .meta({ description: 'Reasoning that is part of the text here. Default: the engine’s table.' }),
  continuation: z
    .boolean()
    .optional()
    .meta({ description: 'The engine can continue a partial answer. Default: the engine’s table.', example: false }),
  systemMessages: z.enum(systemMessagePlaces).optional().meta({
    description:
      'Where the engine takes system messages. With Leading, Weir joins the first ones and sends later ones as marked user text. Default: the tokenizer’s chat template decides, otherwise the engine’s table.',
    example: 'Anywhere',
  }),
  rerankScores: z.enum(scoreScales).optional().meta({
    description:
      'The score scale of a Rerank route: Probability is 0 to 1; Logit is any number, which a sigmoid turns into a probability; Cosine is -1 to 1. A score outside the scale fails the attempt. Default: the engine’s table.',
    example: 'Probability',
  }),
  continuationMark: z.enum(continuationMarks).optional().meta({
    description:
      'How a request marks the answer to continue: with continue_final_message, prefix: true or partial: true, or without a mark, with or without repeating the partial answer. Default: the engine’s table.',
    example: 'prefix',
  }),
});

/** The facts that an operator knows better than the engine's capability table. Each field replaces the table's entry. */
export const capabilities = withRules(capabilityFields, [
  {
    field: ['streamedTools'],
    reason: 'Invalid',
    message: 'expected only where tools is not false',
    holds: ({ tools, streamedTools }) => tools !== false || streamedTools !== true,
    cel: '!has(self.tools) || self.tools || !has(self.streamedTools) || !self.streamedTools',
  },
  {
    field: ['continuationMark'],
    reason: 'Forbidden',
    message: 'expected only where continuation is not false',
    holds: ({ continuation, continuationMark }) => continuation !== false || continuationMark === undefined,
    cel: '!has(self.continuation) || self.continuation || !has(self.continuationMark)',
  },
]);
