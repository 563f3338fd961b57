import type { ScriptStep } from '../programmable-engine/script.ts';
import type { Registry } from './install.ts';

/** Where a run of a client takes place. */
export interface Folders {
  /** Its home: a folder of its own. */
  readonly home: string;
  /** The folder that it is to work in. */
  readonly work: string;
}

/** The same, with what the client is to talk to. */
export interface Seat extends Folders {
  /** Folder with its node_modules, or its virtual environment of Python. */
  readonly installed: string;
  /** Of Weir, without `/v1`. */
  readonly origin: string;
  readonly key: string;
  readonly model: string;
}

export interface Launch {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Packaged {
  /** As the registry has it; also the last part of its model's id. */
  readonly name: string;
  readonly registry: Registry;
  /** What is installed with it, extras of its own among that: `pydantic-ai-slim[openai]`. */
  readonly others?: readonly string[];
}

/** What an agent is sent to do. */
export interface Errand {
  /** Absolute. */
  readonly path: string;
  readonly content: string;
  /** What the model says in the end. */
  readonly end: string;
}

/** A program that works on files with tools of its own. */
export interface Agent extends Packaged {
  readonly kind: 'agent';
  /** What its model says and calls to write a file and to end with a sentence. */
  readonly script: (errand: Errand) => readonly ScriptStep[];
  /** Writes what it is configured by and says how it is run, without anybody to ask. */
  readonly launch: (seat: Seat, prompt: string) => Launch;
}

/** A library, with which one of programs/ has a conversation. */
export interface Library extends Packaged {
  readonly kind: 'library';
}

export type Client = Agent | Library;

const library = (registry: Registry, name: string, others: readonly string[] = []): Library => ({
  ...{ kind: 'library', name, registry, others },
});

/** Libraries of the suite, at the versions that node/ and python/ pin. */
export const pinnedLibraries: readonly Library[] = [
  library('npm', 'openai'),
  library('npm', '@anthropic-ai/sdk'),
  library('npm', '@openai/agents', ['openai', 'zod']),
  library('pypi', 'openai'),
  library('pypi', 'anthropic'),
  library('pypi', 'langchain-openai'),
  library('pypi', 'langchain-anthropic'),
  library('pypi', 'pydantic-ai-slim', ['pydantic-ai-slim[openai]']),
];

/** Those that also have a conversation over the responses surface. */
export const responsesLibraries: readonly Library[] = [
  library('npm', 'openai'),
  library('npm', '@openai/agents', ['openai', 'zod']),
  library('npm', '@ai-sdk/openai', ['ai']),
  library('pypi', 'openai'),
];

/** Libraries that are tried at their newest version only. */
export const furtherLibraries: readonly Library[] = [
  library('npm', '@ai-sdk/openai-compatible', ['ai']),
  library('npm', '@ai-sdk/anthropic', ['ai']),
  library('npm', '@langchain/openai', ['@langchain/core']),
  library('npm', '@langchain/anthropic', ['@langchain/core']),
  library('npm', '@mastra/core', ['zod']),
  library('npm', '@strands-agents/sdk', ['openai', 'zod']),
  library('npm', '@anthropic-ai/claude-agent-sdk', ['zod']),
  library('pypi', 'openai-agents'),
  // Its newest versions cannot be imported without the second one.
  library('pypi', 'litellm', ['mcp']),
  library('pypi', 'instructor'),
  library('pypi', 'smolagents', ['smolagents[openai]']),
  library('pypi', 'haystack-ai'),
  library('pypi', 'strands-agents', ['strands-agents[openai]']),
  library('pypi', 'agno', ['openai']),
  library('pypi', 'autogen-agentchat', ['autogen-ext[openai]']),
  library('pypi', 'dspy'),
];
