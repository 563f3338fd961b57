import {
  bothTransports,
  byThinking,
  type Engine,
  objectFormat,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** Z.ai's GLM API. It refuses stream_options and sends usage at the end of every stream. */
export const zai: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: ['auto'],
    responseFormats: objectFormat,
    parameters: usualParameters,
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'high', 'max'], budget: false },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'always',
  strictTools: false,
  writeReasoning: byThinking,
  writeResponseFormat: usualResponseFormat,
  // Without it a call's arguments come as one chunk, after minutes of silence.
  extra: ({ stream, sendsTools }) => (stream && sendsTools ? { tool_stream: true } : {}),
};
