import * as z from 'zod';
import { fields } from './fields.ts';

/** Optional parameters of the chat surface that a route may or may not honour. Service specification §4.1. */
const parameterNames = [
  'temperature',
  'top_p',
  'stop',
  'seed',
  'n',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'frequency_penalty',
  'presence_penalty',
  'parallel_tool_calls',
  'top_k',
  'min_p',
  'repetition_penalty',
  'top_a',
] as const;

/** What an operator knows better than the engine's capability table. Each field replaces the table's entry. */
export const capabilities = fields({
  tools: z
    .boolean()
    .optional()
    .meta({ description: 'Tool calling works here. Default: the engine’s table.', example: false }),
  responseFormats: z
    .array(z.enum(['json_object', 'json_schema']))
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
  continuation: z
    .boolean()
    .optional()
    .meta({ description: 'The engine can continue a partial answer. Default: the engine’s table.', example: false }),
});
