// Arguments of recurrent cells that host code and device code share. For host compilers and for nvcc.
#pragma once

#include <cstdint>

namespace weir {

// A step of a long short-term memory cell: a place for each number of the state, [batch, cell]. Gates are rows of
// 4 * cell numbers, in which the forget gate begins at `forget`, the candidate at `candidate`, the output gate last.
// All are of the body's type.
struct LstmStepArgs {
  const void* from_input;  // gates: x times weights
  const void* from_state;  // gates: h_prev times weights
  const void* bias;        // [4 * cell]
  const void *wci, *wcf, *wco;
  const void* cs_prev;
  void *i, *cs, *f, *o, *ci, *co, *h;
  int64_t cell;
  int64_t forget, candidate;
  float forget_bias, clip;
  bool peephole;
  int64_t count;
};
// Its gradient at the gates and at the state before. What later steps give for their state before is added to what
// arrives; null: there is none.
struct LstmGradArgs {
  const void *i, *cs, *f, *o, *ci, *co;
  const void *cs_grad, *h_grad;
  const void *later_cs, *later_h;
  const void *wci, *wcf, *wco;
  const void* cs_prev;
  void* gates;
  void* cs_prev_grad;
  int64_t cell;
  int64_t forget, candidate;
  bool peephole;
  int64_t count;
};
// The gradients of peepholes, a place for each number of a state: `rows` of all steps one after the other, the first
// `batch` of which had cs_prev, and later ones what cs holds for the step before.
struct LstmPeepholeArgs {
  const void* gates;
  const void *cs_prev, *cs;
  void *wci, *wcf, *wco;
  int64_t batch, rows, cell;
  int64_t forget;
  int64_t count;
};

// Steps of a gated recurrent cell, in this order. Rows of gates are r, u.
struct GruGatesArgs {
  const float *from_input, *from_state;  // [batch, 2 * cell]
  const float* bias;
  const float* h_prev;
  float *r, *u, *reset;  // reset: r * h_prev
  int64_t cell;
  int64_t count;
};
struct GruStateArgs {
  const float *from_input, *from_reset;  // [batch, cell]
  const float* bias;
  const float *h_prev, *u;
  float *c, *h;
  int64_t cell;
  int64_t count;
};
// And of its gradient: before the candidate's function; before the gates'; at the inputs, a place for each number of
// [x, h_prev], of which candidate_* and gates_* are what the candidate and the gates give.
struct GruCandidateGradArgs {
  const float *u, *c, *d_h;
  float* d_candidate;
  int64_t count;
};
struct GruGatesGradArgs {
  const float *r, *u, *c, *d_h, *h_prev, *candidate_state;
  float* d_gates;
  int64_t cell;
  int64_t count;
};
struct GruInputGradArgs {
  const float *candidate_input, *gates_input;  // [batch, input]
  const float *candidate_state, *gates_state;  // [batch, cell]
  const float *r, *u, *d_h;
  float *d_x, *d_h_prev;
  int64_t input, cell;
  int64_t count;
};

}  // namespace weir
