import type { Request, ResponseFormat, Tool } from '../core/request.ts';
import { createJsonScan, type JsonScan } from '../dialects/json-scan.ts';

/** What schemas may hold in all to be copied from one thread to another: copying that takes a few milliseconds. */
const limits = { maxDepth: 300, maxValues: 20_000 };
const mostCharacters = 1024 * 1024;

/** Tells whether the next schema is still within the limits of them all. */
function createLuggage(): (schema: object) => boolean {
  const bounds: JsonScan = createJsonScan(limits);
  let left = mostCharacters;
  return (schema) => {
    const text = JSON.stringify(schema);
    left -= text.length;
    return left >= 0 && bounds.push(text);
  };
}

/**
 * What the thread that answers a request needs of it, while its messages and the rest stay where they were read. That thread
 * has to copy it in one piece: a schema of 30 MB, or a million biases, would hold up everybody for a second. Answers are not
 * judged by schemas that are left behind, as they are not by any that is too large to be compiled; engines get all of it.
 */
export function handedOver({ messages: _, ...rest }: Request): Omit<Request, 'messages'> {
  const { tools, responseFormat, sampling } = rest;
  const fits = createLuggage();
  const format = responseFormat && { responseFormat: lightFormat(responseFormat, fits) };
  return { ...rest, ...format, tools: tools.map((tool) => lightTool(tool, fits)), sampling: lightSampling(sampling) };
}

function lightFormat(format: ResponseFormat, fits: (schema: object) => boolean): ResponseFormat {
  // Any JSON will do for an empty one.
  if (format.type !== 'json_schema' || format.schema === undefined || fits(format.schema)) return format;
  return { ...format, schema: {} };
}

function lightTool(tool: Tool, fits: (schema: object) => boolean): Tool {
  const { parameters, ...rest } = tool;
  return parameters === undefined || fits(parameters) ? tool : rest;
}

/** Whether there are biases decides which routes can serve; which they are is for the engine alone. */
function lightSampling(sampling: Request['sampling']): Request['sampling'] {
  const { logit_bias: biases } = sampling;
  if (biases === undefined) return sampling;
  return { ...sampling, logit_bias: Object.fromEntries(Object.entries(biases).slice(0, 1)) };
}
