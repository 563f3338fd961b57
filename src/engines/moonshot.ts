import { bothTransports, byThinking, type Engine, everyFormat, usualResponseFormat } from './engine.ts';

/** Moonshot's API. Sampling is fixed on its models: what is sent is refused, so none of it is. */
export const moonshot: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: ['auto', 'none'],
    responseFormats: everyFormat,
    parameters: ['stop'],
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'high', 'max'], budget: false },
    systemMessages: 'Anywhere',
    continuation: 'partial',
  },
  capField: 'max_completion_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: byThinking,
  writeResponseFormat: (format) => {
    if (format.type !== 'json_schema' || format.schema === undefined) return usualResponseFormat(format);
    // `$schema` breaks the request on some of its models.
    const { $schema: _, ...schema } = format.schema;
    return usualResponseFormat({ ...format, schema });
  },
};
