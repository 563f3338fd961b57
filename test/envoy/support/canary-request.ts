import { canary } from '../../support/weir.ts';

/** In what must not even reach an engine. */
export const strict = `${canary}-stripped`;

export const schema = {
  type: 'object',
  description: canary,
  properties: { [canary]: { type: 'string', enum: [canary], description: canary } },
  required: [canary],
};
export const tool = { type: 'function', function: { name: `tool-${canary}`, description: canary, parameters: schema } };

/** The canary in every field that a caller may fill. */
export function everywhere(fields: object = {}): object {
  const call = {
    id: `call_${canary}`,
    type: 'function',
    function: { name: tool.function.name, arguments: `{"a":"${canary}"}` },
  };
  const image = { type: 'image_url', image_url: { url: `https://example.com/${canary}.png` } };
  return {
    model: 'test/model',
    messages: [
      { role: 'system', content: canary, name: canary },
      { role: 'developer', content: [{ type: 'text', text: canary }] },
      { role: 'user', content: canary, name: canary, [strict]: strict },
      {
        role: 'assistant',
        content: canary,
        name: canary,
        reasoning_content: canary,
        reasoning: canary,
        tool_calls: [call],
      },
      { role: 'tool', tool_call_id: call.id, content: canary },
      { role: 'assistant', content: [{ type: 'refusal', refusal: canary }] },
      { role: 'user', content: [{ type: 'text', text: `${canary} [[words=30]]` }, image] },
    ],
    stop: [`${canary}-stop`],
    logit_bias: { [canary]: 1 },
    ...{
      user: strict,
      safety_identifier: strict,
      metadata: { [strict]: strict },
      [strict]: strict,
      demo_unknown: [strict],
    },
    ...{
      prompt_cache_key: strict,
      prediction: { type: 'content', content: strict },
      web_search_options: { near: strict },
    },
    ...fields,
  };
}
