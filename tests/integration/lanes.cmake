# SPDX-License-Identifier: Apache-2.0
#
# Who uses the engine when. Two tests at a time do, each in a lane, so that none may count on being alone there:
# containers, volumes and images of others come and go, and every start clears away what dead hosts have left.
#     docker_lane(TEST SECONDS)     puts it into the lane that is shorter so far
#     docker_alone(TEST SECONDS)    has both, for tests that take away what others use: the runner's volume, the
#                                   engine; or that prune
# SECONDS are what it takes on a machine of two processors, roughly. The longest begin first (COST), those that need
# both lanes before all others, so that neither lane waits for the other in the end.
function(docker_lane test seconds)
    get_property(first GLOBAL PROPERTY docker_lane_1)
    get_property(second GLOBAL PROPERTY docker_lane_2)
    set(lane 1)
    set(taken 0${first})
    if(0${second} LESS 0${first})
        set(lane 2)
        set(taken 0${second})
    endif()
    math(EXPR taken "${taken} + ${seconds}")
    set_property(GLOBAL PROPERTY docker_lane_${lane} ${taken})
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK docker_${lane} COST ${seconds})
endfunction()

function(docker_alone test seconds)
    math(EXPR cost "1000 + ${seconds}")
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK "docker_1;docker_2" COST ${cost})
endfunction()
