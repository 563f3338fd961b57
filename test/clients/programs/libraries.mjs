// Conversations of Node's libraries with Weir. Run beside a node_modules that has the library named on the command line;
// prints one JSON object of what came back. WEIR_ORIGIN, WEIR_KEY and WEIR_MODEL say where.
const { WEIR_ORIGIN: origin, WEIR_KEY: key, WEIR_MODEL: model } = process.env;
const baseURL = `${origin}/v1`;

const question = 'What is a weir?';
const broken = [{ role: 'user', content: '[[demo {"status": 500}]] What is a weir?' }];
const toolQuestion = 'When does the tide turn at Cork? Use get_tide.';
const tideAt = ({ harbour }) => `It turns at 17:42 at ${harbour}.`;
const description = 'When the tide turns at a harbour.';
const parameters = { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] };
const harbourSchema = { ...parameters, additionalProperties: false };

/** Names of the classes that errors come as. */
async function errorClasses(requests) {
  const nameOf = async (request) => {
    try {
      await request();
      return 'none';
    } catch (error) {
      return error.constructor.name;
    }
  };
  const names = Object.entries(requests).map(async ([what, request]) => [what, await nameOf(request)]);
  return Object.fromEntries(await Promise.all(names));
}

async function openai() {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  const ask = (more, by = client) =>
    by.chat.completions.create({ model, messages: [{ role: 'user', content: question }], ...more });
  const models = [];
  for await (const listed of client.models.list()) models.push(listed.id);

  const whole = await ask();
  const stream = client.chat.completions.stream({ model, messages: [{ role: 'user', content: question }] });
  const streamed = (await stream.finalChatCompletion()).choices[0].message.content;
  let called;
  const run = client.chat.completions.runTools({
    model,
    messages: [{ role: 'user', content: toolQuestion }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_tide',
          description,
          parameters,
          parse: JSON.parse,
          function: (tool) => tideAt((called = tool)),
        },
      },
    ],
  });
  const answer = await run.finalContent();
  const formed = await ask({
    response_format: { type: 'json_schema', json_schema: { name: 'harbour', schema: harbourSchema, strict: true } },
  });
  const errors = await errorClasses({
    key: () => ask({}, new OpenAI({ baseURL, apiKey: 'sk-wrong', maxRetries: 0 })),
    model: () => ask({ model: 'test/none' }),
    request: () => ask({ temperature: 9 }),
    path: () => client.models.retrieve('test/none'),
    engine: () => ask({ messages: broken }),
  });
  return {
    ...{ models, retrieved: (await client.models.retrieve(model)).id },
    ...{ text: whole.choices[0].message.content, streamed },
    ...{ called, answer, structured: JSON.parse(formed.choices[0].message.content), errors },
    ...{ requestId: whole._request_id, cost: whole.usage.cost },
  };
}

async function anthropic() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: origin, apiKey: key, authToken: null, maxRetries: 0 });
  const usual = { model, max_tokens: 1000, messages: [{ role: 'user', content: question }] };
  const ask = (more, by = client) => by.messages.create({ ...usual, ...more });
  const textOf = ({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  const models = [];
  for await (const listed of client.models.list()) models.push(listed.id);

  const whole = await ask();
  const streamed = textOf(await client.messages.stream(usual).finalMessage());
  let called;
  const finished = await client.beta.messages.toolRunner({
    ...usual,
    messages: [{ role: 'user', content: toolQuestion }],
    tools: [
      {
        name: 'get_tide',
        description,
        input_schema: parameters,
        parse: (input) => input,
        run: (tool) => tideAt((called = tool)),
      },
    ],
  });
  const formed = await ask({ output_config: { format: { type: 'json_schema', schema: harbourSchema } } });
  const errors = await errorClasses({
    key: () => ask({}, new Anthropic({ baseURL: origin, apiKey: 'wrong', authToken: null, maxRetries: 0 })),
    model: () => ask({ model: 'test/none' }),
    request: () => ask({ temperature: 9 }),
    path: () => client.models.retrieve('test/none'),
    engine: () => ask({ messages: broken }),
  });
  return {
    ...{ models, retrieved: (await client.models.retrieve(model)).id },
    counted: (await client.messages.countTokens({ model, messages: usual.messages })).input_tokens,
    ...{ text: textOf(whole), streamed },
    ...{ called, answer: textOf(finished), structured: JSON.parse(textOf(formed)), errors },
    ...{ requestId: whole._request_id, cost: whole.usage.cost },
  };
}

async function openaiAgents() {
  const { default: OpenAI } = await import('openai');
  const { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = await import('@openai/agents');
  setTracingDisabled(true);
  let called;
  const getTide = tool({
    ...{ name: 'get_tide', description, parameters: harbourSchema, strict: true },
    execute: (input) => tideAt((called = input)),
  });
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  const agent = new Agent({
    ...{ name: 'Harbour', instructions: 'You know tides.', tools: [getTide] },
    model: new OpenAIChatCompletionsModel(client, model),
  });
  const text = (await run(agent, question)).finalOutput;
  const stream = await run(agent, question, { stream: true });
  let streamed = '';
  for await (const piece of stream.toTextStream()) streamed += piece;
  await stream.completed;
  return { text, streamed, answer: (await run(agent, toolQuestion)).finalOutput, called };
}

/** A model of the AI SDK, whichever provider it comes from. */
async function aiSdk(language) {
  const { generateText, jsonSchema, Output, stepCountIs, streamText, tool } = await import('ai');
  let called;
  const tools = {
    get_tide: tool({
      ...{ description, inputSchema: jsonSchema(harbourSchema) },
      execute: async (input) => tideAt((called = input)),
    }),
  };
  const usual = { model: language, maxOutputTokens: 1000, maxRetries: 0 };
  const { text } = await generateText({ ...usual, prompt: question });
  let streamed = '';
  for await (const piece of streamText({ ...usual, prompt: question }).textStream) streamed += piece;
  const used = await generateText({ ...usual, prompt: toolQuestion, tools, stopWhen: stepCountIs(3) });
  const output = Output.object({ schema: jsonSchema(harbourSchema) });
  const formed = await generateText({ ...usual, prompt: question, output });
  return { text, streamed, called, answer: used.text, structured: formed.output };
}

async function aiCompatible() {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const weir = createOpenAICompatible({ name: 'weir', baseURL, apiKey: key, supportsStructuredOutputs: true });
  return aiSdk(weir(model));
}

async function aiAnthropic() {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return aiSdk(createAnthropic({ baseURL, apiKey: key })(model));
}

/** A chat model of LangChain, of either surface. */
async function langchain(chat) {
  const { tool } = await import('@langchain/core/tools');
  let called;
  const run = async (input) => tideAt((called = input));
  const withTools = chat.bindTools([tool(run, { name: 'get_tide', description, schema: parameters })]);
  const messages = [{ role: 'user', content: toolQuestion }];
  const turn = await withTools.invoke(messages);
  messages.push(turn);
  for (const { id, args } of turn.tool_calls)
    messages.push({ role: 'tool', tool_call_id: id, content: await run(args) });
  let streamed = '';
  for await (const piece of await chat.stream(question)) streamed += piece.text;
  const former = chat.withStructuredOutput({ title: 'harbour', ...harbourSchema }, { method: 'jsonSchema' });
  return {
    ...{ text: (await chat.invoke(question)).text, streamed, called, answer: (await withTools.invoke(messages)).text },
    structured: await former.invoke(question),
  };
}

async function langchainOpenai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return langchain(new ChatOpenAI({ model, apiKey: key, maxRetries: 0, configuration: { baseURL } }));
}

async function langchainAnthropic() {
  const { ChatAnthropic } = await import('@langchain/anthropic');
  const usual = { model, apiKey: key, maxTokens: 1000, maxRetries: 0 };
  return langchain(new ChatAnthropic({ ...usual, anthropicApiUrl: origin }));
}

async function mastra() {
  const { Agent } = await import('@mastra/core/agent');
  const { createTool } = await import('@mastra/core/tools');
  const { z } = await import('zod');
  let called;
  const getTide = createTool({
    ...{ id: 'get_tide', description, inputSchema: z.object({ harbour: z.string() }) },
    execute: async (input) => ({ said: tideAt((called = input)) }),
  });
  const agent = new Agent({
    ...{ id: 'harbour', name: 'Harbour', instructions: 'You know tides.', tools: { get_tide: getTide } },
    model: { id: `weir/${model}`, url: baseURL, apiKey: key },
  });
  const { text } = await agent.generate(question);
  let streamed = '';
  for await (const piece of (await agent.stream(question)).textStream) streamed += piece;
  return { text, streamed, answer: (await agent.generate(toolQuestion)).text, called };
}

async function strands() {
  const { Agent, tool } = await import('@strands-agents/sdk');
  const { OpenAIModel } = await import('@strands-agents/sdk/models/openai');
  const { z } = await import('zod');
  let called;
  const getTide = tool({
    ...{ name: 'get_tide', description, inputSchema: z.object({ harbour: z.string() }) },
    callback: (input) => tideAt((called = input)),
  });
  const chat = () => new OpenAIModel({ api: 'chat', modelId: model, apiKey: key, clientConfig: { baseURL } });
  const agent = () => new Agent({ model: chat(), tools: [getTide], printer: false });
  const textOf = ({ lastMessage }) => lastMessage.content.map((block) => block.text ?? '').join('');
  return { text: textOf(await agent().invoke(question)), answer: textOf(await agent().invoke(toolQuestion)), called };
}

async function claudeAgentSdk() {
  const { createSdkMcpServer, query, tool } = await import('@anthropic-ai/claude-agent-sdk');
  const { z } = await import('zod');
  let called;
  const run = async (input) => ({ content: [{ type: 'text', text: tideAt((called = input)) }] });
  const tides = createSdkMcpServer({
    name: 'tides',
    tools: [tool('get_tide', description, { harbour: z.string() }, run)],
  });
  const name = 'mcp__tides__get_tide';
  const env = { ...process.env, ANTHROPIC_BASE_URL: origin, ANTHROPIC_AUTH_TOKEN: key };
  const ask = async (prompt) => {
    const options = { mcpServers: { tides }, tools: [], allowedTools: [name], model, env };
    let result;
    for await (const message of query({ prompt, options })) if (message.type === 'result') result = message.result;
    return result;
  };
  return { text: await ask(question), answer: await ask(`${toolQuestion} It is ${name}.`), called };
}

const libraries = {
  openai,
  '@anthropic-ai/sdk': anthropic,
  '@openai/agents': openaiAgents,
  '@ai-sdk/openai-compatible': aiCompatible,
  '@ai-sdk/anthropic': aiAnthropic,
  '@langchain/openai': langchainOpenai,
  '@langchain/anthropic': langchainAnthropic,
  '@mastra/core': mastra,
  '@strands-agents/sdk': strands,
  '@anthropic-ai/claude-agent-sdk': claudeAgentSdk,
};
console.log(JSON.stringify(await libraries[process.argv[2]]()));
